#include "Tools/Bench/Calibration/CalibrationBench.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Math/Median.h"
#include "Core/Compute/Memory/Transfers.h"
#include "Core/Runs/Prediction/MeasuredTime.h"
#include "Core/Sparse/Analysis/ProductWork.h"
#include "Core/Sparse/SpGemm.h"
#include "Core/Sparse/SpGemmOnCuda.h"
#include "Tools/Bench/BenchClock.h"
#include "Tools/Bench/Images/ResampleCases.h"
#include "Tools/Bench/Matrices/BenchmarkMatrices.h"
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
  failAs(ExitCode::registrationFailed, std::string("calibrate: ") + what, std::strerror(errno),
         "a system that lets this program start processes");
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
    failAs(ExitCode::device, "calibrate",
           deviceName(choice.device) + ": it could not be started in a process of its own",
           "a device that several processes may use, or --device cpu");
  Context all = makeContext(choice.device, threads), withOne = makeContext(choice.device, 1);
  calibration.gpu = findCudaDevices().found[static_cast<std::size_t>(choice.device.ordinal)].name;
  calibration.cudaStartSeconds = rounded(*start);
  calibration.cudaEvaluationSeconds =
      rounded(evaluationSeconds<3>(registry, image, true, false, deviceName(choice.device), threads));
  calibration.cudaByte = rounded(byteNanoseconds(all));
  measureProducts(&withOne, &all, calibration);
  return calibration;
}

namespace {

constexpr std::size_t repeats = 5;

/// The square of a benchmark matrix.
struct Square {
  CsrMatrix<double> a;
  ProductWork work;

  Square(const Context& context, const char* name)
      : a(makeBenchmarkMatrix(context, name)), work(productWork(context, a, a, sizeof(double)))
  {
  }

  double nanoseconds(Context& context, SpGemmAlgorithm algorithm) const
  {
    if (!context.onCuda()) {
      SpGemmOptions<double> options;
      options.algorithm = algorithm;
      return 1e6 * timesOfLongRuns(repeats, [&] { multiply(context, a, a, options); }).ms;
    }
    BenchClock clock(context, repeats);
    const CsrOnCuda<double> onCuda = broughtToCuda(context, a, "A");
    SpGemmOnCuda product(context);
    SpGemmOnCudaOptions options;
    options.algorithm = algorithm;
    return 1e6 * clock.time([&] { product.multiply(onCuda, onCuda, options); }).msWarm;
  }
};

/// Nanoseconds of the CPU for a row, a product and an entry of rows, and for a pair of tiles. The matrices
/// have 20 products for an entry and few rows, less than 2 and many entries a row, and less than 2 and few.
struct CpuRates {
  double row, product, entry, tilePair;

  CpuRates(const Square& dense, const Square& scattered, const Square& thin, int threads)
  {
    Context context{{}, threads};
    const auto byRows = [&](const Square& square) {
      return square.nanoseconds(context, SpGemmAlgorithm::rows);
    };
    const double nsOfDense = byRows(dense), nsOfScattered = byRows(scattered), nsOfThin = byRows(thin);
    row = entry = product = 0;
    // Each time is that of all three; a few rounds find the rates, none of which is negative.
    constexpr int rounds = 50;
    for (int round = 0; round < rounds; ++round) {
      product =
          std::max(0.0, nsOfDense - entry * dense.work.entries - row * dense.work.rows) / dense.work.products;
      entry = std::max(0.0, nsOfScattered - product * scattered.work.products - row * scattered.work.rows)
              / scattered.work.entries;
      row =
          std::max(0.0, nsOfThin - product * thin.work.products - entry * thin.work.entries) / thin.work.rows;
    }
    tilePair = std::max(0.0, dense.nanoseconds(context, SpGemmAlgorithm::tiles) - entry * dense.work.entries
                                 - row * dense.work.rows)
               / dense.work.tilePairs;
  }
};

/// Nanoseconds of a byte that goes to a device, and of one that comes back.
struct CopyRates {
  double upload, download;

  CopyRates(const Context& context, const CsrMatrix<double>& matrix)
  {
    const auto bytes = static_cast<double>(matrix.bytes());
    const auto nanosecondsAByte = [&](auto&& copy) {
      return 1e6 / bytes * timesOfLongRuns(repeats, copy).ms;
    };
    const CsrOnCuda<double> onCuda = broughtToCuda(context, matrix, "A");
    upload = nanosecondsAByte([&] {
      broughtToCuda(context, matrix, "A");
      context.stream->wait();
    });
    download = nanosecondsAByte([&] { broughtToHost(context, onCuda); });
  }
};

}

void measureProducts(Context* cudaWithOne, Context* cudaWithAll, Calibration& calibration)
{
  const Context host{{}, calibration.threads};
  const Square dense(host, "lock3491_like"), scattered(host, "cage12_like"), thin(host, "mc2depi");
  const CpuRates one(dense, scattered, thin, 1),
      all = calibration.threads > 1 ? CpuRates(dense, scattered, thin, calibration.threads) : one;
  ProductRates& rates = calibration.products;
  rates.row = {one.row, all.row};
  rates.product = {one.product, all.product};
  rates.entry = {one.entry, all.entry};
  rates.tilePair = {one.tilePair, all.tilePair};
  if (!cudaWithAll)
    return;
  const Square large(host, "pcrystk03");
  const CopyRates withOne(*cudaWithOne, large.a), withAll(*cudaWithAll, large.a);
  rates.upload = {withOne.upload, withAll.upload};
  rates.download = {withOne.download, withAll.download};
  rates.cudaProduct = scattered.nanoseconds(*cudaWithAll, SpGemmAlgorithm::rows) / scattered.work.products;
  rates.cudaTilePair = large.nanoseconds(*cudaWithAll, SpGemmAlgorithm::tiles) / large.work.tilePairs;
}

}
