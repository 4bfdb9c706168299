#include "Tools/Register/StageOutputs.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Registration/Stage/StageComponents.h"
#include "Core/Registration/TransformFiles/TransformDigest.h"
#include "Core/Runs/OutputNames.h"
#include "Tools/Register/StageLog.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <type_traits>

namespace tessera {

template <int D>
StageOutputs<D>::StageOutputs(const Registry& registry, const RunningStage<D>& stage, std::string folder,
                              InitialFile initial, Log& log, OutputDigests* digests)
    : registry_(registry), stage_(stage), folder_(std::move(folder)), digests_(digests),
      initial_(std::move(initial)), log_(log)
{
}

template <int D>
void StageOutputs<D>::writePyramidImages(std::size_t level, const std::vector<ImagePointer<D>>& fixed,
                                         const std::vector<ImagePointer<D>>& moving)
{
  if (!stage_.settings.writePyramidImages(level))
    return;
  const auto write = [&](const std::string& stem, const std::vector<ImagePointer<D>>& images) {
    for (std::size_t i = 0; i < images.size(); ++i)
      if (i == 0 || images[i] != images[0])
        writeImageFile(
            pathOf(stem + std::to_string(i), levelSuffix(level), stage_.resampler.resultImage().format),
            *images[i]);
  };
  write("FixedImagePyramid", fixed);
  write("MovingImagePyramid", moving);
}

template <int D>
void StageOutputs<D>::writeAfterIteration(std::size_t level, std::size_t iteration,
                                          const TransformChain<D>& chain)
{
  if (stage_.settings.writesTransformOfIterations)
    writeTransform(iterationSuffix(level, iteration), chain);
  if (stage_.resampler.writesResultAfterIterations(level))
    writeResult(iterationSuffix(level, iteration), stage_.resultOf(chain));
}

template <int D>
void StageOutputs<D>::writeTables(const LevelSummary& summary, const std::string& iterationTable)
{
  const std::size_t level = summary.level;
  if (stage_.settings.writeIterationInfo && !iterationTable.empty()) {
    files_.push_back(pathOf("IterationInfo", levelSuffix(level), "txt"));
    writeTextFile(files_.back(), iterationTable, Sync::no);
  }
  if (!summary.surface.size.empty())
    writeSurface(level, summary.surface);
}

template <int D>
void StageOutputs<D>::writeAfterLevel(const LevelSummary& summary, const std::string& iterationTable,
                                      const TransformChain<D>& chain)
{
  const std::size_t level = summary.level;
  writeTables(summary, iterationTable);
  if (stage_.settings.writesTransformOfLevels) {
    checkInitialIsAsWritten();
    writeTransform(levelSuffix(level), chain);
  }
  if (stage_.resampler.writesResultAfterLevel(level))
    writeResult(levelSuffix(level), stage_.resultOf(chain));
}

template <int D>
void StageOutputs<D>::writeTransforms(const TransformChain<D>& chain)
{
  if (stage_.settings.writeFinalTransform) {
    checkInitialIsAsWritten();
    const std::string path = writeTransform("", chain);
    if (stage_.number + 1 < stage_.count)
      digest_ = std::async(launchOfDigests(), transformDigest, path);
  }
  writeItkFiles(chain);
}

/// The file of the stage before is named by that of this stage, which stands for nothing without it.
template <int D>
void StageOutputs<D>::checkInitialIsAsWritten() const
{
  const std::string& path = initial_.path;
  std::error_code ignored;
  if (stage_.number == 0 || initial_.digest.empty())
    return;
  if (!std::filesystem::is_regular_file(path, ignored) || transformDigest(path) != initial_.digest)
    failAs(ExitCode::unwritableOutput, path,
           "this run wrote it, and since then something has replaced, changed or removed it. The transform "
           "of stage "
               + std::to_string(stage_.number + 1) + " names it and was not written",
           "an output folder that nothing else writes to");
}

template <int D>
std::vector<FileSection> resamplingSections(const Registry& registry, const Parameters& ofStage,
                                            const Resampler<D>& resampler)
{
  const std::string interpolator = componentNames(ofStage, "ResampleInterpolator").front();
  std::vector<FileEntry> entries{{"ResampleInterpolator", {interpolator}, {}}};
  const Parameters parameters = ofStage.withLabel("ResampleInterpolator0");
  for (const ParameterInfo& row : registry.require("ResampleInterpolator", interpolator, "").parameters)
    if (row.type == ParameterType::integer)
      entries.push_back(
          {row.name,
           {},
           {static_cast<double>(
               parameters.find(Parameter<std::int64_t>{row}).value_or(std::stoll(row.defaultText)))}});
  return {{"ResampleInterpolator specific", entries}, {"Resampler specific", resampler.fileEntries()}};
}

template <int D>
std::string StageOutputs<D>::writeTransform(const std::string& suffix, const TransformChain<D>& chain,
                                            const std::vector<FileEntry>* model)
{
  TransformFileSource<D> source{.chain = &chain, .model = model};
  if (!initial_.path.empty())
    source.initialPath = initial_.path;
  source.initialDigest = initial_.digest;
  source.fixed = stage_.fixed;
  source.fixed.direction = stage_.fixedInFile.direction;
  source.useDirectionCosines = stage_.settings.useDirectionCosines;
  source.fixedPixelType = stage_.settings.fixedPixelType;
  source.movingPixelType = stage_.settings.movingPixelType;
  source.sections = resamplingSections<D>(registry_, stage_.parameters, stage_.resampler);
  source.threads = stage_.host.threads;

  std::vector<std::string> warnings;
  const std::string extension = stage_.settings.transformExtension;
  std::string path = pathOf("TransformParameters", suffix, extension);
  const std::vector<std::string> text = extension == "toml" ? std::vector{transformFileToml<D>(source)}
                                                            : transformFilePieces<D>(source, warnings);
  writeTextFile(path, text);
  if (suffix.empty())
    linesForLog_ = tessera::linesForLog(text, path);
  files_.push_back(path);
  for (const std::string& warning : warnings)
    if (reported_.insert(warning).second)
      log_.warning(path + ": " + warning);
  return path;
}

template <int D>
void StageOutputs<D>::writeItkFiles(const TransformChain<D>& chain)
{
  const std::string extension = stage_.settings.itkExtension;
  if (extension.empty())
    return;
  if (extension != "txt") { // that name is the transform parameter file's own
    files_.push_back(pathOf("TransformParameters", "", extension));
    writeItkTransforms(files_.back(), {chain.transform->itkTransform(chain.parameters)}, false);
  }
  if (!stage_.settings.writeItkComposite)
    return;
  std::vector<ItkTransform> all; // the last one is applied first
  for (const TransformChain<D>* link = &chain; link; link = link->initial.get())
    all.push_back(link->transform->itkTransform(link->parameters));
  files_.push_back(pathOf("TransformParameters", "-Composite", extension));
  writeItkTransforms(files_.back(), all, true);
}

template <int D>
void StageOutputs<D>::writeResult(const std::string& suffix, const ResultImage<D>& image)
{
  const ResultImageSettings& settings = stage_.resampler.resultImage();
  const std::string path = pathOf(settings.name, suffix, settings.format);
  writeStoredImage<D>(path, image.geometry, image.type, 1, image.bytes(), settings.compress,
                      stage_.host.threads, digests_);
  files_.push_back(path);
}

template <int D>
void StageOutputs<D>::writeImageFile(const std::string& path, Image<D> image)
{
  image.geometry.direction = stage_.fixedInFile.direction;
  const ResultImageSettings& settings = stage_.resampler.resultImage();
  writeImage<D>(path, image, settings.pixelType, settings.compress, stage_.host.threads);
  files_.push_back(path);
}

/// A search along one or two axes is an image of 2D, one along three is an image of 3D.
template <int D>
void StageOutputs<D>::writeSurface(std::size_t level, const OptimizationSurface& surface)
{
  const ResultImageSettings& settings = stage_.resampler.resultImage();
  files_.push_back(pathOf("OptimizationSurface", levelSuffix(level), settings.format));
  const auto write = [&]<int Axes>(std::integral_constant<int, Axes>) {
    Image<Axes> image;
    image.geometry.size.fill(1);
    image.geometry.spacingMm.fill(1);
    std::ranges::copy(surface.size, image.geometry.size.begin());
    image.voxels = surface.values;
    writeImage<Axes>(files_.back(), image, PixelType::float32, settings.compress, stage_.host.threads);
  };
  if (surface.size.size() > 2)
    write(std::integral_constant<int, 3>{});
  else
    write(std::integral_constant<int, 2>{});
  log_.info("The scanned optimization surface is saved as: " + files_.back());
}

TESSERA_INSTANTIATE_CLASS_TO_4(StageOutputs);
TESSERA_INSTANTIATE_FUNCTIONS_TO_4(resamplingSections<D>);

}
