#include "Core/Runs/Transforming/TransformDevice.h"

#include "Core/Compute/Error.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/Inverse/InverseTransform.h"
#include "Core/Runs/Prediction/PredictedTime.h"
#include "Core/Runs/Resampling/MemoryOnDevice.h"

namespace tessera {
namespace {

/// The sizes of the images whose headers can be read. The errors of the others are reported later, where they
/// are read.
template <int D>
struct KnownImages {
  std::vector<ImageSizes> images, labels;
  std::vector<SizeOnDevice<D>> sizes; // of all
};

/// Bytes that are copied to a GPU for a voxel: those of the file, or a float for each component of a file
/// that can only be read as a whole.
double uploadedBytes(const ImageHeader& header, std::size_t components)
{
  const std::size_t inFile =
      static_cast<std::size_t>(header.components) * pixelTypeSize(header.componentType);
  return static_cast<double>(header.isReadWhole ? components * sizeof(float) : inFile);
}

template <int D>
KnownImages<D> knownImages(const DeviceTask<D>& task)
{
  const PixelType typeOfImages = task.resampler.resultImage().pixelType;
  KnownImages<D> known;
  for (ImageTask& image : task.images)
    try {
      const ImageHeader& header = headerOf(image);
      const SizeOnDevice<D> size =
          sizeOnDevice<D>(header, image.isLabels, image.ownType.value_or(typeOfImages));
      (image.isLabels ? known.labels : known.images)
          .push_back({static_cast<double>(size.grid.voxelCount()), static_cast<double>(size.components),
                      static_cast<double>(pixelTypeSize(size.type)), uploadedBytes(header, size.components)});
      known.sizes.push_back(size);
    } catch (const Error&) {
    }
  return known;
}

/// Predicted seconds, of CUDA with its start.
template <int D>
DeviceTimes predicted(const DeviceTask<D>& task, const KnownImages<D>& known, const Calibration& calibration)
{
  const RatesInUse rates{calibration, task.request.threads};
  DeviceTimes times{0, calibration.cudaStartSeconds};
  for (const bool areLabels : {false, true})
    times += timesOfImages<D>(rates, task.chain, task.lattice, task.makeInterpolator(areLabels)->order(0),
                              areLabels ? known.labels : known.images, maxImagesAtOnce);
  for (const FieldAskedFor& field : fieldsOf(task.request, D))
    times += timesOfField<D>(rates, task.chain, task.lattice, field.components);
  return times;
}

std::string text(const DeviceTimes& predicted, const Calibration& calibration)
{
  return "predicted " + decimals(predicted.cpu, 3) + " s on the CPU"
         + (builtWithCuda ? ", " + decimals(predicted.cuda, 3) + " s on CUDA (of it "
                                + decimals(calibration.cudaStartSeconds, 3) + " to start it; "
                          : " (")
         + calibration.source + ")";
}

/// Why the first image that is too large for the device does not fit; empty if all fit.
template <int D>
std::string misfit(const DeviceTask<D>& task, const KnownImages<D>& known, const Device& device)
{
  const double usable = usableDeviceMemory(makeContext(device, 1, task.request.maxDeviceMemory));
  for (const SizeOnDevice<D>& size : known.sizes) {
    const DeviceMemory needed =
        memoryOnDevice<D>(task.resampler, task.chain, task.lattice, task.makeInterpolator, size);
    if (needed.bytes() > usable)
      return "an image needs " + memoryText(needed.bytes()) + " of memory of " + deviceName(device) + " ("
             + needed.text() + "), " + memoryText(usable) + " are free";
  }
  return "";
}

template <int D>
std::string whyNotByKernels(const DeviceTask<D>& task)
{
  const TransformRequest& request = task.request;
  const InverseTransform<D>* inverse = asInverse(task.chain);
  const std::string whyNotChain =
      inverse ? whyNotInOtherKernels<D>(inverse->inverted()) : whyNotResampledOnCuda<D>(task.chain);
  std::string whyNotImages = hasImages(request) ? whyNotChain : "";
  if (whyNotImages.empty() && !request.images.empty() && !task.makeInterpolator(false)->onCuda())
    whyNotImages = "the interpolator \"" + task.interpolatorName + "\"";
  if (!whyNotImages.empty())
    return "resampling an image (-in) has no CUDA form here: " + whyNotImages;
  if (request.points.isGiven())
    return "mapping a file of points (-def) has no CUDA form";
  for (const FieldAskedFor& field : fieldsOf(request, D))
    if (const std::string why = inverse ? whyNotChain : task.methods.whyNotOnCuda(field.quantity);
        !why.empty())
      return field.option + " has no CUDA form here: " + why;
  return "";
}

/// Why CUDA cannot do the work that is asked for; empty if it can.
template <int D>
std::string withoutCuda(const DeviceTask<D>& task)
{
  if constexpr (D == 4)
    return "transforms of dimension 4 have no CUDA form";
  else
    return whyNotByKernels(task);
}

}

template <int D>
TransformDevice chooseTransformDevice(const DeviceTask<D>& task)
{
  const std::string& asked = task.request.device;
  const std::string cannot = withoutCuda(task);
  if (asked != "auto" || !cannot.empty())
    return {chooseDevice(asked, "--device", cannot), {}};
  const KnownImages<D> known = knownImages<D>(task);
  const Calibration calibration = task.machine.calibration();
  const DeviceTimes seconds = predicted(task, known, calibration);
  const std::string both = text(seconds, calibration);
  const auto onCpu = [&](const std::string& why) {
    return TransformDevice{{Device{}, "cpu: " + why}, seconds.cpu};
  };

  if (seconds.cpu <= seconds.cuda) // starting the driver would take longer than a small image
    return onCpu(both);
  DeviceChoice choice = chooseDevice(asked, "--device", "");
  if (choice.device.kind == DeviceKind::cpu)
    return {choice, seconds.cpu};
  if (const std::string why = misfit(task, known, choice.device); !why.empty())
    return onCpu(why);
  choice.reason += ": " + both;
  return {choice, seconds.cuda};
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(chooseTransformDevice<D>);

}
