#pragma once

#include "Core/Parameters/Calibration.h"
#include "Core/Registration/Registration.h"
#include "Core/Runs/StageCheck.h"

#include <memory>
#include <vector>

namespace tessera {

/// Predicted seconds of a task on either device, without the start of a CUDA device (dox/Decisions/0025).
struct DeviceTimes {
  double cpu = 0, cuda = 0;

  DeviceTimes& operator+=(const DeviceTimes& more)
  {
    cpu += more.cpu;
    cuda += more.cuda;
    return *this;
  }
};

/// The rates of a machine, of whose CPU so many threads work.
struct RatesInUse {
  const Calibration& calibration;
  int threads = 1;
};

/// Sizes of an image that is resampled.
struct ImageSizes {
  double voxels = 0, components = 1;
  double resultBytes = sizeof(float);                // a component of a result's voxel
  double uploadedBytes = sizeof(float) * components; // a voxel with all its components
};

/// Images that are looked up in the same way, by an interpolator of this Interpolator::order; on the CPU,
/// `imagesAtOnce` of them share T(x).
template <int D>
DeviceTimes timesOfImages(const RatesInUse&, const TransformChain<D>&, const ImageGeometry<D>& lattice,
                          int order, const std::vector<ImageSizes>&, std::size_t imagesAtOnce);

/// A field of `components` floats a voxel: displacements (D), determinants (1) or matrices (D * D).
template <int D>
DeviceTimes timesOfField(const RatesInUse&, const TransformChain<D>&, const ImageGeometry<D>& lattice,
                         std::size_t components);

/// The most that a stage takes: all iterations of all levels, and the result image.
struct StageTimes {
  std::vector<double> evaluations; // of the cost, at each level
  DeviceTimes levels, result;
  DeviceTimes expectedLevels; // those of the evaluations that the stage probably does
  bool mayEndEarly = false;   // the optimizer or the level stops when it has converged
};

/// Goes by the headers of the images. Masks are taken as whole. `after` is the stage's chain (chainAfter).
template <int D>
StageTimes timesOfStage(const RatesInUse&, const Registry&, const CheckedStage<D>&, const StageInput<D>&,
                        const ChainPointer<D>& after);

/// What is the same on both devices: seconds until a program looks at its request, of reading the inputs, and
/// of figures, records and files of the results. The least machines and the slowest disks take longer.
constexpr double programStartSeconds = 0.05;
double readingSeconds(const InputHeaders&, int threads);
double writingSeconds(const std::vector<ResultToWrite>&, double fixedVoxels, int threads);

}
