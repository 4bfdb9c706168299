#include "Tools/Common/CalibrationFile.h"
#include "Tools/Transform/TransformDevice.h"

#include "Core/Compute/Cuda/Stream.h"
#include "Core/Compute/Error.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/Inverse/InverseTransform.h"
#include "Core/Registration/Stage/StageComponents.h"
#include "Core/Runs/Resampling/MemoryOnDevice.h"
#include "Core/Runs/Prediction/ResamplingWork.h"

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
KnownImages<D> knownImages(const TransformDeviceRequest<D>& request)
{
  const PixelType typeOfImages = request.resampler.resultImage().pixelType;
  KnownImages<D> known;
  for (ImageTask& task : request.tasks)
    try {
      const ImageHeader& header = headerOf(task);
      const SizeOnDevice<D> size = sizeOnDevice<D>(header, task.isLabels, typeOfImages);
      (task.isLabels ? known.labels : known.images)
          .push_back({static_cast<double>(size.grid.voxelCount()), static_cast<double>(size.components),
                      static_cast<double>(pixelTypeSize(size.type)), uploadedBytes(header, size.components)});
      known.sizes.push_back(size);
    } catch (const Error&) {
    }
  return known;
}

template <int D>
DeviceWork workOf(const TransformDeviceRequest<D>& request, const KnownImages<D>& known)
{
  const TransformOptions& options = request.options;
  DeviceWork work;
  for (const bool areLabels : {false, true})
    addImages<D>(work, request.chain, request.lattice, request.makeInterpolator(areLabels)->order(0),
                 areLabels ? known.labels : known.images, maxImagesAtOnce);
  if (options.field)
    addField<D>(work, request.chain, request.lattice, D);
  if (options.determinants)
    addField<D>(work, request.chain, request.lattice, 1);
  if (options.matrices)
    addField<D>(work, request.chain, request.lattice, D * D);
  return work;
}

struct Prediction {
  double cpu = 0, cuda = 0;
};

std::string text(const Prediction& prediction, const Calibration& calibration)
{
  return "predicted " + decimals(prediction.cpu, 3) + " s on the CPU, " + decimals(prediction.cuda, 3)
         + " s on CUDA (of it " + decimals(calibration.cudaStartSeconds, 3) + " to start it; "
         + calibration.source + ")";
}

/// Why the first image that is too large for the device does not fit; empty if all fit.
template <int D>
std::string misfit(const TransformDeviceRequest<D>& request, const KnownImages<D>& known,
                   const Device& device)
{
  const double usable = usableDeviceMemory(makeContext(device, 1, request.options.maxDeviceMemory));
  for (const SizeOnDevice<D>& size : known.sizes) {
    const DeviceMemory needed =
        memoryOnDevice<D>(request.resampler, request.chain, request.lattice, request.makeInterpolator, size);
    if (needed.bytes() > usable)
      return "an image needs " + memoryText(needed.bytes()) + " of memory of " + deviceName(device) + " ("
             + needed.text() + "), " + memoryText(usable) + " are free";
  }
  return "";
}

}

template <int D>
std::string withoutCuda(const TransformOptions& options, const TransformChain<D>& chain,
                        const Interpolator<D>& interpolator, const std::string& interpolatorName,
                        const FieldMethods<D>& methods)
{
  const InverseTransform<D>* inverse = asInverse(chain);
  const std::string whyNotChain =
      inverse ? whyNotInOtherKernels<D>(inverse->inverted()) : whyNotOnCuda<D>(chain);
  std::string whyNotImages = hasImages(options) ? whyNotChain : "";
  if (whyNotImages.empty() && !options.images.empty() && !interpolator.onCuda())
    whyNotImages = "the interpolator \"" + interpolatorName + "\"";
  if (!whyNotImages.empty())
    return "resampling an image (-in) has no CUDA form here: " + whyNotImages;
  if (!options.points.empty())
    return "mapping a file of points (-def) has no CUDA form";
  const auto whyNot = [&](bool asked, const char* option, FieldQuantity quantity) {
    const std::string why = !asked ? "" : inverse ? whyNotChain : methods.whyNotOnCuda(quantity);
    return why.empty() ? why : option + std::string(" has no CUDA form here: ") + why;
  };
  const std::string field = whyNot(options.field, "-def all", FieldQuantity::displacements);
  if (!field.empty())
    return field;
  return whyNot(options.determinants || options.matrices, options.determinants ? "-jac all" : "-jacmat all",
                FieldQuantity::derivatives);
}

template <int D>
TransformDevice chooseTransformDevice(const TransformDeviceRequest<D>& request)
{
  const std::string& asked = request.options.device;
  if (asked != "auto" || !request.withoutCuda.empty())
    return {chooseDevice(asked, "--device", request.withoutCuda), {}};
  const KnownImages<D> known = knownImages<D>(request);
  const DeviceWork work = workOf(request, known);
  const int threads = request.options.threads;
  Calibration calibration = storedCalibration();
  const auto predicted = [&] {
    return Prediction{cpuSeconds(calibration, D, work, threads), cudaSeconds(calibration, D, work, threads)};
  };
  const auto onCpu = [&](const std::string& why) {
    return TransformDevice{{Device{}, "cpu: " + why}, predicted().cpu};
  };

  if (predicted().cpu <= predicted().cuda) // starting the driver would take longer than a small image
    return onCpu(text(predicted(), calibration));
  DeviceChoice choice = chooseDevice(asked, "--device", "");
  if (choice.device.kind == DeviceKind::cpu)
    return {choice, predicted().cpu};
  calibration = calibrationFor(calibration, request.options.gpus->of(choice.device));
  if (predicted().cpu <= predicted().cuda)
    return onCpu(text(predicted(), calibration));
  if (const std::string why = misfit(request, known, choice.device); !why.empty())
    return onCpu(why);
  choice.reason = deviceName(choice.device) + " (" + calibration.gpu + "): " + text(predicted(), calibration);
  return {choice, predicted().cuda};
}

template std::string withoutCuda(const TransformOptions&, const TransformChain<2>&, const Interpolator<2>&,
                                 const std::string&, const FieldMethods<2>&);
template std::string withoutCuda(const TransformOptions&, const TransformChain<3>&, const Interpolator<3>&,
                                 const std::string&, const FieldMethods<3>&);
template TransformDevice chooseTransformDevice(const TransformDeviceRequest<2>&);
template TransformDevice chooseTransformDevice(const TransformDeviceRequest<3>&);

}
