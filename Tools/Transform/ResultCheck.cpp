#include "Tools/Transform/ResultCheck.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/DiskRoom.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Image/Files/FilesOfImage.h"
#include "Core/Image/Files/ImageFormat.h"
#include "Core/Image/ShearedGrid.h"

namespace tessera {
namespace {

template <int D>
void checkFormat(const ResultsAsked<D>& asked, Log& log)
{
  const ResultImageSettings& result = asked.resampler.resultImage();
  const TransformOptions& options = asked.options;
  if (!options.images.empty())
    asked.resampler.warnOfPixelType();
  try {
    if (!options.images.empty())
      checkWritable(result.format, D, result.pixelType);
    if (options.field)
      checkWritable(result.format, D, PixelType::float32, D);
    if (options.determinants)
      checkWritable(result.format, D, PixelType::float32);
    if (options.matrices)
      checkWritable(result.format, D, PixelType::float32, D * D);
    if (options.field || options.determinants || options.matrices || !asked.tasks.empty())
      checkHoldsGrid(result.format, asked.grid);
  } catch (const Error& error) {
    throw Error(ExitCode::usage, asked.parameters.where("ResultImageFormat") + ": " + error.what());
  }
  if (const std::string lost = gridLostBy(result.format, asked.grid); !lost.empty())
    log.warning(asked.parameters.where("ResultImageFormat") + ": this format does not keep the " + lost
                + " of an image.");
}

template <int D>
void checkRoom(const ResultsAsked<D>& asked, Log& log)
{
  const ResultImageSettings& result = asked.resampler.resultImage();
  const TransformOptions& options = asked.options;
  const double voxels = extentCount(asked.grid.size);
  std::vector<ResultToWrite> results;
  const auto add = [&](const std::string& stem, std::size_t bytesAVoxel) {
    results.push_back({filesOfResult(asked.folder + stem + "." + result.format),
                       voxels * static_cast<double>(bytesAVoxel),
                       formatCompresses(result.format, result.compress)});
  };
  if (options.field)
    add("deformationField", D * sizeof(float));
  if (options.determinants)
    add("spatialJacobian", sizeof(float));
  if (options.matrices)
    add("fullSpatialJacobian", D * D * sizeof(float));
  for (const ImageTask& task : asked.tasks) // labels keep their type, which is not known yet
    add(task.outputStem, task.isLabels ? 1 : pixelTypeSize(result.pixelType));
  if (const std::string warning = requireDiskRoom("-out: " + options.outputFolder, asked.folder, results);
      !warning.empty())
    log.warning(warning);
}

}

template <int D>
void checkResults(const ResultsAsked<D>& asked, Log& log)
{
  checkFormat(asked, log);
  checkRoom(asked, log);
}

template void checkResults(const ResultsAsked<2>&, Log&);
template void checkResults(const ResultsAsked<3>&, Log&);

}
