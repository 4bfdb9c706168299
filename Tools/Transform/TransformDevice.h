#pragma once

#include "Core/Compute/Device.h"
#include "Core/Registration/Resampler.h"
#include "Core/Registry/Registry.h"
#include "Tools/Common/RunLog.h"
#include "Tools/Transform/ImageTasks.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// Where a run computes, and what its images and fields were predicted to take there.
struct TransformDevice {
  DeviceChoice choice;
  std::optional<double> predictedSeconds; // nothing: the device was named, or there was no choice
};

/// What chooseTransformDevice goes by.
template <int D>
struct TransformDeviceRequest {
  const TransformOptions& options;
  const Registry& registry;
  const TransformChain<D>& chain;
  const ImageGeometry<D>& lattice;
  const Parameters& parameters; // of the transform file
  const Resampler<D>& resampler;
  std::vector<ImageTask>& tasks; // whose headers are read
  std::string withoutCuda;       // what has no CUDA form; empty: all has one
};

/// `--device auto` takes what needs less time by the stored calibration, from the headers of the images; a
/// CUDA device is only looked for if it is that. Throws as chooseDevice and storedCalibration.
template <int D>
TransformDevice chooseTransformDevice(const TransformDeviceRequest<D>&);

}
