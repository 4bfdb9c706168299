#include "Tools/Register/StageOutputs.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Image/Checksum.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Registration/Stage/ResamplingMemory.h"
#include "Core/Registration/Stage/StageComponents.h"
#include "Core/Registration/TransformFiles/TransformDigest.h"
#include "Core/Registration/TransformFiles/TransformFile.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <type_traits>

namespace tessera {

std::string levelSuffix(std::size_t level)
{
  return ".R" + std::to_string(level);
}

std::string iterationSuffix(std::size_t level, std::size_t iteration)
{
  char text[32];
  std::snprintf(text, sizeof text, ".It%07zu", iteration);
  return levelSuffix(level) + text;
}

template <int D>
StageOutputs<D>::StageOutputs(const Registry& registry, StageOutputContext<D> stage, Log& log)
    : registry_(registry), stage_(std::move(stage)), log_(log)
{
  interpolatorName_ = componentNames(stage_.parameters, "ResampleInterpolator").front();
}

template <int D>
std::string StageOutputs<D>::pathOf(const std::string& stem, const std::string& suffix,
                                    const std::string& extension) const
{
  return stage_.folder + stem + "." + std::to_string(stage_.stage) + suffix + "." + extension;
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
bool StageOutputs<D>::writesAfterIterations(std::size_t level) const
{
  return stage_.settings.writesTransformOfIterations() || stage_.resampler.writesResultAfterIterations(level);
}

template <int D>
void StageOutputs<D>::writeAfterIteration(std::size_t level, std::size_t iteration,
                                          const TransformChain<D>& chain)
{
  if (stage_.settings.writesTransformOfIterations())
    writeTransform(iterationSuffix(level, iteration), chain);
  if (stage_.resampler.writesResultAfterIterations(level))
    writeResult(iterationSuffix(level, iteration), chain);
}

template <int D>
void StageOutputs<D>::writeAfterLevel(const LevelSummary& summary, const std::string& iterationTable,
                                      const TransformChain<D>& chain)
{
  const std::size_t level = summary.level;
  if (stage_.settings.writeIterationInfo() && !iterationTable.empty()) {
    files_.push_back(pathOf("IterationInfo", levelSuffix(level), "txt"));
    writeTextFile(files_.back(), iterationTable, Sync::no);
  }
  if (!summary.surface.size.empty())
    writeSurface(level, summary.surface);
  if (stage_.settings.writesTransformOfLevels()) {
    checkInitialIsAsWritten();
    writeTransform(levelSuffix(level), chain);
  }
  if (stage_.resampler.writesResultAfterLevel(level))
    writeResult(levelSuffix(level), chain);
}

template <int D>
void StageOutputs<D>::writeFinal(const TransformChain<D>& chain)
{
  if (stage_.settings.writeFinalTransform()) {
    checkInitialIsAsWritten();
    digest_ = transformDigest(writeTransform("", chain));
  }
  writeItkFiles(chain);
  log_.info("");
  log_.info("Registration result checksum: " + std::to_string(resultChecksum(chain.parameters)));
  if (stage_.resampler.writesFinalResult()) {
    const auto start = std::chrono::steady_clock::now();
    log_.info("");
    log_.info("Applying final transform ...");
    writeResult("", chain);
    log_.info("  Applying final transform took " + decimals(secondsSince(start), 2) + "s");
  }
}

/// The file of the stage before is named by that of this stage, which stands for nothing without it.
template <int D>
void StageOutputs<D>::checkInitialIsAsWritten() const
{
  const std::string& path = stage_.initialTransform;
  std::error_code ignored;
  if (stage_.stage == 0 || stage_.initialDigest.empty())
    return;
  if (!std::filesystem::is_regular_file(path, ignored) || transformDigest(path) != stage_.initialDigest)
    throw Error(
        ExitCode::unwritableOutput,
        path
            + ": this run wrote it, and since then something has replaced, changed or removed it. "
              "The transform of stage "
            + std::to_string(stage_.stage + 1)
            + " names it and was not written. Allowed: an output folder that nothing else writes to.");
}

/// The lines of a transform file from which a later program makes the same interpolator.
template <int D>
std::vector<FileEntry> StageOutputs<D>::interpolatorEntries() const
{
  std::vector<FileEntry> entries{{"ResampleInterpolator", {interpolatorName_}, {}}};
  const Parameters parameters = stage_.parameters.withLabel("ResampleInterpolator0");
  for (const ParameterInfo& row : registry_.require("ResampleInterpolator", interpolatorName_, "").parameters)
    if (row.type == ParameterType::integer)
      entries.push_back(
          {row.name,
           {},
           {static_cast<double>(
               parameters.find(Parameter<std::int64_t>{row}).value_or(std::stoll(row.defaultText)))}});
  return entries;
}

template <int D>
std::string StageOutputs<D>::writeTransform(const std::string& suffix, const TransformChain<D>& chain,
                                            const std::vector<FileEntry>* model)
{
  TransformFileSource<D> source;
  source.chain = &chain;
  source.model = model;
  if (!stage_.initialTransform.empty())
    source.initialPath = stage_.initialTransform;
  source.initialDigest = stage_.initialDigest;
  source.fixed = stage_.fixedGeometry;
  source.fixed.direction = stage_.writtenDirection;
  source.useDirectionCosines = stage_.settings.useDirectionCosines();
  source.fixedPixelType = stage_.settings.fixedPixelType();
  source.movingPixelType = stage_.settings.movingPixelType();
  source.sections = {{"ResampleInterpolator specific", interpolatorEntries()},
                     {"Resampler specific", stage_.resampler.fileEntries()}};
  source.threads = stage_.context.threads;

  std::vector<std::string> warnings;
  const std::string extension = stage_.settings.transformExtension();
  std::string path = pathOf("TransformParameters", suffix, extension);
  writeTextFile(path,
                extension == "toml" ? transformFileToml<D>(source) : transformFileText<D>(source, warnings));
  files_.push_back(path);
  for (const std::string& warning : warnings)
    if (reported_.insert(warning).second)
      log_.warning(path + ": " + warning);
  return path;
}

template <int D>
void StageOutputs<D>::writeItkFiles(const TransformChain<D>& chain)
{
  const std::string extension = stage_.settings.itkExtension();
  if (extension.empty())
    return;
  if (extension != "txt") { // that name is the transform parameter file's own
    files_.push_back(pathOf("TransformParameters", "", extension));
    writeItkTransforms(files_.back(), {chain.transform->itkTransform(chain.parameters)}, false);
  }
  if (!stage_.settings.writeItkComposite())
    return;
  std::vector<ItkTransform> all; // the last one is applied first
  for (const TransformChain<D>* link = &chain; link; link = link->initial.get())
    all.push_back(link->transform->itkTransform(link->parameters));
  files_.push_back(pathOf("TransformParameters", "-Composite", extension));
  writeItkTransforms(files_.back(), all, true);
}

/// The context of the stage, or the CPU if the interpolator has no CUDA form, or if the CUDA device has too
/// little memory left for whole images, which may be larger than those of the levels.
template <int D>
Context StageOutputs<D>::contextOfResult(const TransformChain<D>& chain)
{
  if (!stage_.context.onCuda())
    return stage_.context;
  Context onCpu{Device{}, stage_.context.threads};
  if (!stage_.resampleInterpolator.onCuda()) {
    log_.note("result image: the interpolator \"" + interpolatorName_
              + "\" has no CUDA form: it is made on the CPU.");
    return onCpu;
  }
  Interpolator<D>* const interpolator = &stage_.resampleInterpolator;
  const DeviceMemory needed = memoryOfResampling<D>(stage_.resampler, chain,
                                                    {{&interpolator, 1},
                                                     stage_.moving->geometry,
                                                     stage_.validMoving != nullptr,
                                                     false,
                                                     stage_.resampler.resultImage().pixelType},
                                                    stage_.fixedGeometry);
  const double usable = usableDeviceMemory(stage_.context);
  if (needed.bytes() <= usable)
    return stage_.context;
  log_.note("result image: it needs " + memoryText(needed.bytes()) + " of "
            + deviceName(stage_.context.device) + " (" + needed.text() + "), which has " + memoryText(usable)
            + " left: it is made on the CPU.");
  return onCpu;
}

template <int D>
void StageOutputs<D>::writeResult(const std::string& suffix, const TransformChain<D>& chain)
{
  Interpolator<D>& interpolator = stage_.resampleInterpolator;
  const auto start = std::chrono::steady_clock::now();
  Context context = contextOfResult(chain);
  interpolator.prepareForLevel(context, stage_.moving, 0);
  const double prepared = secondsSince(start);
  const ResultImageSettings& settings = stage_.resampler.resultImage();
  const PixelType type = settings.pixelType;
  const ResampleSource<D> source{&interpolator, stage_.validMoving};
  const auto pixels = stage_.resampler.resamplePixels(context, chain, std::span(&source, 1),
                                                      stage_.fixedGeometry, std::span(&type, 1));
  interpolator.endLevel();
  log_.detail("  Resampling without reading and writing took " + decimals(secondsSince(start), 3) + " s on "
              + deviceName(context.device) + ", of which preparing the interpolator " + decimals(prepared, 3)
              + " s.");
  ImageGeometry<D> geometry = stage_.fixedGeometry;
  geometry.direction = stage_.writtenDirection;
  const std::string path = pathOf(settings.name, suffix, settings.format);
  writeStoredImage<D>(path, geometry, type, 1,
                      {pixels.front().get(), geometry.voxelCount() * pixelTypeSize(type)}, settings.compress,
                      stage_.context.threads);
  files_.push_back(path);
}

template <int D>
void StageOutputs<D>::writeImageFile(const std::string& path, Image<D> image)
{
  image.geometry.direction = stage_.writtenDirection;
  const ResultImageSettings& settings = stage_.resampler.resultImage();
  writeImage<D>(path, image, settings.pixelType, settings.compress, stage_.context.threads);
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
    writeImage<Axes>(files_.back(), image, PixelType::float32, settings.compress, stage_.context.threads);
  };
  if (surface.size.size() > 2)
    write(std::integral_constant<int, 3>{});
  else
    write(std::integral_constant<int, 2>{});
  log_.info("The scanned optimization surface is saved as: " + files_.back());
}

template class StageOutputs<2>;
template class StageOutputs<3>;

}
