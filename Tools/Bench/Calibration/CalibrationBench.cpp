#include "Tools/Bench/Calibration/CalibrationBench.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Math/Median.h"
#include "Core/Compute/Memory/Transfers.h"
#include "Core/Runs/Prediction/MeasuredTime.h"
#include "Tools/Bench/BenchClock.h"
#include "Tools/Bench/Calibration/ProductRatesBench.h"
#include "Tools/Bench/Images/ResampleCases.h"
#include "Tools/Common/Process.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <functional>
#include <malloc.h>
#include <optional>

#include <sys/wait.h>
#include <unistd.h>

namespace tessera {
namespace {

constexpr double drawnSamples = 2048; // which four threads share

[[noreturn]] void failToMeasure(const char* what)
{
  throw Error(ExitCode::registrationFailed,
              std::string("calibrate: ") + what + ": " + std::strerror(errno)
                  + ". Allowed: a system that lets this program start processes.");
}

std::optional<double> inProcess(const std::function<double()>& measure)
{
  int ends[2];
  if (pipe(ends) != 0)
    failToMeasure("pipe");
  const pid_t child = fork();
  if (child < 0)
    failToMeasure("fork");
  if (child == 0) {
    bool written = false;
    try {
      const double value = measure();
      written = write(ends[1], &value, sizeof value) == sizeof value;
    } catch (...) { // the parent runs into the same error and reports it
    }
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  double value = 0;
  const bool wasRead = read(ends[0], &value, sizeof value) == sizeof value;
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return wasRead ? std::optional(value) : std::nullopt;
}

/// Calls `measure` in three child processes, one after another, and returns the median of the results. So
/// costs that a process pays only once are measured three times. Returns nothing if `measure` throws. This
/// process must have no further threads and no CUDA device.
std::optional<double> medianOfProcesses(const std::function<double()>& measure)
{
  constexpr int processes = 3;
  std::vector<double> values;
  for (int i = 0; i < processes; ++i) {
    const std::optional<double> value = inProcess(measure);
    if (!value)
      return std::nullopt;
    values.push_back(*value);
  }
  return median(values);
}

/// Rounds to 4 digits, the precision of the measurements.
double rounded(double value)
{
  constexpr int digits = 4;
  const double perUnit = value > 0 ? std::pow(10, digits - 1 - std::floor(std::log10(value))) : 1;
  return std::round(value * perUnit) / perUnit;
}

/// The time of one after the first.
double secondRun(const std::function<void()>& work)
{
  double milliseconds = 0;
  work();
  addMilliseconds(milliseconds, work);
  return 1e-3 * milliseconds;
}

/// Seconds of an evaluation by mutual information of an image and itself.
template <int D>
double evaluationSeconds(const Registry& registry, const ImagePointer<D>& image, bool isSpline,
                         bool isLattice, const std::string& device, int threads)
{
  RunRequest request;
  request.fixed = {{"fixed", image}};
  request.moving = {{"moving", image}};
  request.device = device;
  request.threads = threads;
  request.stages = {stageTextOf(
      "calibration",
      std::string("(FixedImagePyramid \"FixedSmoothingImagePyramid\")\n"
                  "(MovingImagePyramid \"MovingSmoothingImagePyramid\")\n"
                  "(Metric \"AdvancedMattesMutualInformation\")\n(Interpolator \"LinearInterpolator\")\n"
                  "(Optimizer \"StandardGradientDescent\")\n(SP_a 0.001)\n(NumberOfResolutions 1)\n"
                  "(WriteResultImage \"false\")\n(NumberOfSpatialSamples 2048)\n")
          + (isSpline ? "(Transform \"BSplineTransform\")\n(FinalGridSpacingInVoxels 16)\n"
                      : "(Transform \"AffineTransform\")\n(Scales 100000)\n")
          + (isLattice ? "(ImageSampler \"Full\")\n(MaximumNumberOfIterations 4)\n"
                       : "(ImageSampler \"RandomCoordinate\")\n(MaximumNumberOfIterations 300)\n"))};
  Log quiet;
  Run<D> run(registry, request, quiet);
  run.execute();
  return tessera::evaluationSeconds(run.summary().stages.front().levels.front());
}

template <int D>
void measureSamples(const Registry& registry, Calibration& calibration)
{
  Size<D> size;
  size.fill(D == 2 ? 1000 : 208); // larger than caches, as images of heads are
  const ImagePointer<D> image = benchImage<D>(Context{Device{}, calibration.threads}, benchGrid<D>(size));
  const auto seconds = [&](bool isSpline, bool isLattice, int threads) {
    return evaluationSeconds<D>(registry, image, isSpline, isLattice, "cpu", threads);
  };
  for (const bool isSpline : {true, false}) {
    const double one = seconds(isSpline, true, 1);
    calibration.sample[D - 2][isSpline][true] =
        rounded(1e9 * one / static_cast<double>(image->voxels.size()));
    if (D == 3 && isSpline && calibration.threads > 1)
      calibration.cpuSpeedup = rounded(std::max(1.0, one / seconds(true, true, calibration.threads)));
    // Threads share few samples less well than many, so all of them work.
    calibration.sample[D - 2][isSpline][false] =
        rounded(1e9 * seconds(isSpline, false, calibration.threads)
                * calibration.speedup(std::min(calibration.threads, 4)) / drawnSamples);
  }
}

/// Resamples an image of so many voxels along each axis by linear interpolation and an affine map.
void resampleOnce(const Registry& registry, Context& context, const ImagePointer<3>& image)
{
  const std::unique_ptr<Interpolator<3>> interpolator =
      std::move(registry
                    .create<ResampleInterpolator<3>>(
                        "LinearInterpolator", benchParameters("", "ResampleInterpolator0", 3), "calibration")
                    ->interpolator);
  const auto resampler =
      registry.create<Resampler<3>>("DefaultResampler", benchParameters("", "Resampler0", 3), "calibration");
  interpolator->prepareForLevel(context, image, 0);
  const ResampleSource<3> source{interpolator.get(), nullptr, {}};
  const PixelType type = PixelType::float32;
  resampler->resamplePixels(context, *benchChain<3>(registry, "A", image), std::span(&source, 1),
                            image->geometry, std::span(&type, 1));
}

ImagePointer<3> cube(std::size_t side)
{
  return benchImage<3>(Context{}, benchGrid<3>({side, side, side}));
}

/// What the first work of a process on the device takes in addition, including the search for it.
double startSeconds(const Registry& registry, const std::string& device, int threads)
{
  const ImagePointer<3> tiny = cube(16);
  double first = 0;
  Context context;
  addMilliseconds(first, [&] {
    context = makeContext(chooseDevice(device, "--device", "").device, threads);
    resampleOnce(registry, context, tiny);
  });
  return std::max(0.0, 1e-3 * first - secondRun([&] { resampleOnce(registry, context, tiny); }));
}

/// Nanoseconds of a byte to the device and back, the mean of both ways, into fresh memory of the host.
double byteNanoseconds(Context& context)
{
  const std::vector<float> host(std::size_t{1} << 25, 1.0f);
  const double seconds = secondRun([&] {
    Buffer<float> buffer;
    buffer.fromHost(context, host);
    buffer.toHost(context);
  });
  return 1e9 * seconds / (2.0 * sizeof(float) * static_cast<double>(host.size()));
}

}

Calibration measureCalibration(const Registry& registry, const std::string& device, int threads)
{
  // Arrays then get fresh pages from the system, as in a process that resamples a single image.
  mallopt(M_MMAP_THRESHOLD, 1 << 17);
  Calibration calibration = shippedCalibration();
  calibration.source = "measured";
  calibration.processor = processorName();
  calibration.threads = threads;
  calibration.cpuSpeedup = 1;
  calibration.gpu.clear();
  const std::string wanted = device == "auto" ? "cuda" : device;
  const auto start = device == "cpu"
                         ? std::nullopt
                         : medianOfProcesses([&] { return startSeconds(registry, wanted, threads); });
  measureSamples<3>(registry, calibration); // first: measures how threads speed up, too
  measureSamples<2>(registry, calibration);
  const ImagePointer<3> image = cube(144);
  Context one;
  calibration.voxel = rounded(1e9 * secondRun([&] { resampleOnce(registry, one, image); })
                              / static_cast<double>(image->voxels.size()));
  const DeviceChoice choice = chooseDevice(device, "--device", "");
  if (choice.device.kind == DeviceKind::cpu) {
    measureProducts(nullptr, nullptr, calibration);
    return calibration;
  }
  if (!start)
    throw Error(ExitCode::device,
                "calibrate: " + deviceName(choice.device)
                    + ": it could not be started in a process of its own. Allowed: a device that several "
                      "processes may use, or --device cpu.");
  Context all = makeContext(choice.device, threads), withOne = makeContext(choice.device, 1);
  calibration.gpu = findCudaDevices().found[static_cast<std::size_t>(choice.device.ordinal)].name;
  calibration.cudaStartSeconds = rounded(*start);
  calibration.cudaEvaluationSeconds =
      rounded(evaluationSeconds<3>(registry, image, true, false, deviceName(choice.device), threads));
  calibration.cudaByte = rounded(byteNanoseconds(all));
  measureProducts(&withOne, &all, calibration);
  return calibration;
}

}
