#pragma once

#include "Core/Compute/Device.h"
#include "Core/Compute/Log.h"
#include "Core/Registration/Fields/FieldMethods.h"
#include "Core/Registration/Interpolator.h"
#include "Core/Registration/Resampler.h"
#include "Core/Registry/Registry.h"
#include "Core/Runs/Resampling/ImageBatch.h"
#include "Tools/Transform/TransformOptions.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// The device of a run, and the predicted time of its images and fields there.
struct TransformDevice {
  DeviceChoice choice;
  std::optional<double> predictedSeconds; // empty if the user named the device or only one can be used
};

/// The task for which chooseTransformDevice chooses a device.
template <int D>
struct TransformDeviceRequest {
  const TransformOptions& options;
  const TransformChain<D>& chain;
  const ImageGeometry<D>& lattice;
  const Resampler<D>& resampler;
  const MakeInterpolator<D>& makeInterpolator;
  std::vector<ImageTask>& tasks; // chooseTransformDevice reads their headers
  std::string withoutCuda;       // why the task cannot run on CUDA; empty if it can
};

/// The reason why CUDA cannot do the work that the options ask for; empty if it can.
template <int D>
std::string withoutCuda(const TransformOptions&, const TransformChain<D>&,
                        const Interpolator<D>& interpolator, const std::string& interpolatorName,
                        const FieldMethods<D>&);

/// The device that --device names. For "auto" the one that the stored calibration predicts to be faster for
/// images of these sizes; the CUDA driver is only started if that may be a CUDA device. Throws as
/// chooseDevice and storedCalibration.
template <int D>
TransformDevice chooseTransformDevice(const TransformDeviceRequest<D>&);

}
