#pragma once

#include "Core/Compute/Error.h"
#include "Core/Compute/Log.h"
#include "Core/Image/Voxels/PixelType.h"
#include "Core/Registration/GeometryInUse.h"
#include "Core/Registration/Reporter.h"
#include "Core/Registration/Resampler.h"
#include "Core/Runs/Resampling/ResultSink.h"

#include <functional>
#include <memory>
#include <vector>

namespace tessera {

/// At most so many images are resampled together on the CPU and share T(x): with more, the cost of T(x) is
/// already small beside that of the interpolation.
constexpr std::size_t maxImagesAtOnce = 8;

template <int D>
using MakeInterpolator = std::function<std::unique_ptr<Interpolator<D>>(bool forLabels)>;

/// Everything that the images of a batch have in common.
template <int D>
struct ImageBatch {
  Context& context;
  const TransformChain<D>& chain;
  const Resampler<D>& resampler;
  MakeInterpolator<D> makeInterpolator;
  ImageGeometry<D> lattice; // the points at which T is evaluated
  ImageGeometry<D> output;  // the same grid with the direction that is written to the files
  bool useDirectionCosines = true;
  PixelType pixelType = PixelType::int16; // the type of intensities; label maps and colours keep their own
  ResultSink<D>& results;
  double maxMemory = 0; // bytes of host memory for images; 0: a share of the free memory
  Log& log;

  PixelType typeOf(const ImageTask& task) const { return task.ownType.value_or(pixelType); }
  /// The value of voxels that are mapped outside of an image: no label in label maps.
  double outsideOf(const ImageTask& task) const { return task.isLabels ? 0 : resampler.outsideValue(); }
  /// The grid of a moving image as the resampler sees it.
  ImageGeometry<D> placed(const ImageGeometry<D>& inFile) const
  {
    return geometryInUse<D>(inFile, useDirectionCosines);
  }
};

struct BatchResult {
  ExitCode code = ExitCode::done;     // someRowsFailed if at least one of several images failed
  double resampleSeconds = 0;         // all images, without reading and writing
  std::vector<const ImageTask*> made; // the images that did not fail
  /// The parts of a single image, from its file to that of its result, add up to the time of the whole:
  /// reading, up (to the device), prefilter, kernels, cast, down, writing, other. On the CPU the cast is one
  /// of the kernels' steps; on CUDA kernels and cast are measured by the device's clock, and "down" is what
  /// copies take beside them.
  std::vector<TimeRow> time = {};
};

/// Reads and resamples the images and brings them to the batch's results. With more than one thread, images
/// are read ahead and results are written behind while others are resampled. If there is a single image, its
/// error is thrown. If there are several, the error of one is logged and the others are still done.
template <int D>
BatchResult resampleImages(const ImageBatch<D>&, std::vector<ImageTask>&);

}
