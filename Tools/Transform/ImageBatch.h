#pragma once

#include "Core/Compute/Error.h"
#include "Core/Image/Voxels/PixelType.h"
#include "Core/Registration/Resampler.h"
#include "Core/Registry/Registry.h"
#include "Tools/Common/RunLog.h"
#include "Tools/Transform/ImageTasks.h"

#include <functional>
#include <string>
#include <vector>

namespace tessera {

constexpr std::size_t mostImagesAtOnce =
    8; // share one T(x); what it costs is little beside their interpolation then

/// What all images of a run share.
template <int D>
struct ImageBatch {
  Context& context;
  const TransformChain<D>& chain;
  const Resampler<D>& resampler;
  std::function<std::unique_ptr<Interpolator<D>>(bool ofLabels)> makeInterpolator;
  ImageGeometry<D> lattice; // where T is asked
  ImageGeometry<D> output;  // the same with the direction that is written
  bool useDirectionCosines = true;
  PixelType pixelType = PixelType::int16; // of results that are no label maps
  std::string folder;
  double maxMemory = 0; // bytes that images may take; 0: what is free
  RunLog& log;

  /// A grid as images on it are resampled.
  ImageGeometry<D> placed(const ImageGeometry<D>& inFile) const
  {
    return useDirectionCosines ? inFile : withIdentityDirection<D>(inFile);
  }
  /// Of the task's result.
  std::string pathOf(const ImageTask& task) const
  {
    return folder + task.outputStem + "." + resampler.resultImage().format;
  }
};

struct BatchResult {
  ExitCode code = ExitCode::done; // someRowsFailed: what goes wrong with one of several images is logged
  double resampleSeconds = 0;     // from voxels in memory to voxels in memory, all images
};

/// Reads, resamples and writes the images, those before and after at the same time if there is more than one
/// thread; the transform is asked once for several of them. Of one image, throws what goes wrong; of several,
/// what goes wrong with one is logged, the others are done.
template <int D>
BatchResult resampleImages(const ImageBatch<D>&, std::vector<ImageTask>&);

}
