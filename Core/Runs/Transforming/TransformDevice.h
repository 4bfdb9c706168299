#pragma once

#include "Core/Compute/Device.h"
#include "Core/Registration/Fields/FieldMethods.h"
#include "Core/Registration/Resampler.h"
#include "Core/Runs/Machine.h"
#include "Core/Runs/Resampling/ImageBatch.h"
#include "Core/Runs/Transforming/TransformRequest.h"

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
struct DeviceTask {
  const TransformRequest& request;
  const Machine& machine;
  const TransformChain<D>& chain;
  const ImageGeometry<D>& lattice;
  const Resampler<D>& resampler;
  const MakeInterpolator<D>& makeInterpolator;
  std::string interpolatorName; // of images that are no label maps
  const FieldMethods<D>& methods;
  std::vector<ImageTask>& images; // chooseTransformDevice reads their headers
};

/// The device that the request names. For "auto" the one that the machine's calibration predicts to be faster
/// for images of these sizes; the CUDA driver is only started if that may be a CUDA device. Throws as
/// chooseDevice and Machine::calibration.
template <int D>
TransformDevice chooseTransformDevice(const DeviceTask<D>&);

}
