#include "Tools/Bench/Calibration/CalibrationBench.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/Transfers.h"
#include "Core/Registration/Reporter.h"
#include "Tools/Bench/BenchClock.h"
#include "Tools/Bench/Calibration/ChildProcesses.h"
#include "Tools/Bench/Calibration/ProductRatesBench.h"
#include "Tools/Bench/Calibration/RateScene.h"
#include "Tools/Common/Process.h"
#include "Core/Runs/Prediction/ResamplingWork.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <malloc.h>
#include <optional>

namespace tessera {
namespace {

// Sizes larger than the caches, for which all measurements together take seconds.
template <int D>
constexpr Size<D> sizeForCpu{};
template <>
constexpr Size<2> sizeForCpu<2>{1600, 1500};
template <>
constexpr Size<3> sizeForCpu<3>{160, 150, 100};
template <int D>
constexpr Size<D> sizeForCuda{};
template <>
constexpr Size<2> sizeForCuda<2>{4096, 4096};
template <>
constexpr Size<3> sizeForCuda<3>{256, 256, 256};

using CpuNanoseconds = std::array<double, workCount>;

std::size_t at(Work work)
{
  return static_cast<std::size_t>(work);
}

/// Rounds to 4 digits, the precision of the measurements.
double rounded(double value)
{
  constexpr int digits = 4;
  const double perUnit = value > 0 ? std::pow(10, digits - 1 - std::floor(std::log10(value))) : 1;
  return std::round(value * perUnit) / perUnit;
}

/// Nanoseconds for each item. A difference of two measurements may come out negative and becomes 0.
double nanosecondsAnItem(double milliseconds, double items)
{
  return rounded(std::max(0.0, 1e6 * milliseconds / items));
}

template <int D>
CpuNanoseconds measureCpu(const RateScene<D>& scene, int threads)
{
  Context context{Device{}, threads};
  CpuNanoseconds rates{};
  const auto set = [&](Work work, double milliseconds, double perVoxel = 1) {
    rates[at(work)] = nanosecondsAnItem(milliseconds, perVoxel * scene.voxels());
  };
  set(Work::directNearest, scene.resampling(context, "A", "nearest"));
  set(Work::directLinear, scene.resampling(context, "A", "linear"));
  set(Work::directCubic, scene.resampling(context, "A", "cubic"));
  const double aligned = scene.mapping(context, "B");
  set(Work::pointAlignedSpline, aligned);
  set(Work::pointSpline, scene.mapping(context, "BB") - aligned);
  set(Work::pointLinearTransform, scene.mapping(context, "AB") - aligned);
  set(Work::pointLandmark, scene.mapping(context, "landmarks"), RateScene<D>::landmarkCount);
  set(Work::pointNearest, scene.resampling(context, "B", "nearest") - aligned);
  set(Work::pointLinear, scene.resampling(context, "B", "linear") - aligned);
  set(Work::pointCubic, scene.resampling(context, "B", "cubic") - aligned);
  set(Work::pointMajority, scene.resampling(context, "B", "majority") - aligned);
  set(Work::prefilter, scene.preparing(context, "cubic"));
  set(Work::fieldDisplacements, scene.field(context, D));
  set(Work::fieldDeterminants, scene.field(context, 1));
  set(Work::fieldMatrices, scene.field(context, D * D));
  return rates;
}

/// Nanoseconds for each byte that resampling transform A by the nearest voxel takes outside of kernels.
template <int D>
ThreadRate download(const RateScene<D>& scene, Context& one, Context& all, double kernels)
{
  const double bytes = scene.voxels() * sizeof(float);
  return {nanosecondsAnItem(scene.resampling(one, "A", "nearest") - kernels, bytes),
          nanosecondsAnItem(scene.resampling(all, "A", "nearest") - kernels, bytes)};
}

template <int D>
void measureCuda(const RateScene<D>& scene, Context& one, Context& all, Calibration& calibration)
{
  const double bytes = scene.voxels() * sizeof(float);
  std::array<double, workCount>& rates = calibration.of(D).cuda;
  const auto set = [&](Work work, double milliseconds, double perVoxel = 1) {
    rates[at(work)] = nanosecondsAnItem(milliseconds, perVoxel * scene.voxels());
  };
  const auto kernels = [&](const char* word, const char* interpolator) {
    return scene.kernels(all, word, interpolator);
  };
  const double nearest = kernels("A", "nearest"), linear = kernels("A", "linear");
  set(Work::directNearest, nearest);
  set(Work::directLinear, linear);
  set(Work::directCubic, kernels("A", "cubic"));
  set(Work::directMajority, kernels("A", "majority"));
  set(Work::directSpline, kernels("BA", "linear") - linear);
  // A chain with two B-splines is resampled point by point.
  const double two = kernels("BB", "nearest"), spline = kernels("BBB", "nearest") - two;
  const double pointNearest = std::max(0.0, two - 2 * spline);
  set(Work::pointSpline, spline);
  set(Work::pointLinearTransform, kernels("ABB", "nearest") - two);
  set(Work::pointNearest, pointNearest);
  set(Work::pointLinear, kernels("BB", "linear") - 2 * spline);
  set(Work::pointCubic, kernels("BB", "cubic") - 2 * spline);
  set(Work::pointMajority, kernels("BB", "majority") - 2 * spline);
  set(Work::pointLandmark, kernels("landmarks", "nearest") - pointNearest, RateScene<D>::landmarkCount);
  set(Work::prefilter, scene.prefilterKernels(all));
  if constexpr (D == 3) {
    calibration.upload = {nanosecondsAnItem(scene.preparing(one, "linear"), bytes),
                          nanosecondsAnItem(scene.preparing(all, "linear"), bytes)};
    calibration.download = download<D>(scene, one, all, nearest);
  }
}

/// Measures fields. To be called after measureCuda in 3D, whose time for copies is subtracted.
template <int D>
void measureFieldsOnCuda(const RateScene<D>& scene, Context& context, Calibration& calibration)
{
  for (const auto& [work, components] : {std::pair{Work::fieldDisplacements, std::size_t{D}},
                                         {Work::fieldDeterminants, std::size_t{1}},
                                         {Work::fieldMatrices, std::size_t{D * D}}}) {
    const double bytes = scene.voxels() * static_cast<double>(components * sizeof(float));
    const double copying = 1e-6 * bytes * calibration.download.allThreads;
    calibration.of(D).cuda[at(work)] =
        nanosecondsAnItem(scene.field(context, components) - copying, scene.voxels());
  }
}

template <int D>
void measureDimension(const Registry& registry, Context* one, Context* all, Calibration& calibration)
{
  const RateScene<D> scene(registry, Context{Device{}, calibration.threads}, sizeForCpu<D>);
  const CpuNanoseconds withOne = measureCpu(scene, 1),
                       withAll = calibration.threads > 1 ? measureCpu(scene, calibration.threads) : withOne;
  for (std::size_t i = 0; i < workCount; ++i)
    calibration.of(D).cpu[i] = {withOne[i], withAll[i]};
  if (!all)
    return;
  const RateScene<D> large(registry, *all, sizeForCuda<D>);
  measureCuda(large, *one, *all, calibration);
  measureFieldsOnCuda(large, *all, calibration);
}

constexpr Size<3> tinySize{16, 16, 16};

/// The time that a process's first image takes in addition, including the search for the device.
double startMilliseconds(const Registry& registry, const std::string& device, int threads)
{
  const RateScene<3> tiny(registry, Context{}, tinySize);
  double first = 0;
  Context context;
  addMilliseconds(first, [&] {
    context = makeContext(chooseDevice(device, "--device", "").device, threads);
    tiny.runWhole(context, "A", "cubic");
  });
  return std::max(0.0, first - tiny.whole(context, "A", "cubic"));
}

double measuredStart(const std::optional<double>& milliseconds, const std::string& device)
{
  if (!milliseconds)
    throw Error(ExitCode::device,
                "calibrate: " + device
                    + ": it could not be started in a process of its own. Allowed: a device that several "
                      "processes may use, or --device cpu.");
  return rounded(1e-3 * *milliseconds);
}

std::string number(double nanoseconds, bool isDone)
{
  char text[32];
  std::snprintf(text, sizeof text, "%12.4f", nanoseconds);
  return isDone ? text : std::string(12, ' ');
}

}

Calibration measureCalibration(const Registry& registry, const std::string& device, int threads)
{
  // Arrays then get fresh pages from the system, as in a process that resamples a single image.
  mallopt(M_MMAP_THRESHOLD, 1 << 17);
  Calibration calibration;
  calibration.source = "measured";
  calibration.processor = processorName();
  calibration.threads = threads;
  const auto cpuStart = medianOfProcesses([&] { return startMilliseconds(registry, "cpu", threads); });
  const auto cudaStart = device == "cpu" ? std::nullopt : medianOfProcesses([&] {
    return startMilliseconds(registry, device == "auto" ? "cuda" : device, threads);
  });
  calibration.cpuStartSeconds = measuredStart(cpuStart, "cpu");
  const DeviceChoice choice = chooseDevice(device, "--device", "");
  if (choice.device.kind == DeviceKind::cpu) {
    measureDimension<3>(registry, nullptr, nullptr, calibration);
    measureDimension<2>(registry, nullptr, nullptr, calibration);
    measureProducts(nullptr, nullptr, calibration);
    return calibration;
  }
  Context all = makeContext(choice.device, threads), one = makeContext(choice.device, 1);
  calibration.gpu = findCudaDevices().found[static_cast<std::size_t>(choice.device.ordinal)].name;
  calibration.cudaStartSeconds = measuredStart(cudaStart, deviceName(choice.device));
  calibration.cudaImageSeconds =
      rounded(1e-3 * RateScene<3>(registry, Context{}, tinySize).whole(all, "A", "linear"));
  measureDimension<3>(registry, &one, &all, calibration);
  measureDimension<2>(registry, &one, &all, calibration);
  measureProducts(&one, &all, calibration);
  return calibration;
}

std::string tableText(const Calibration& calibration)
{
  const bool withCuda = !calibration.gpu.empty();
  char line[200];
  std::snprintf(line, sizeof line, ": started in %.2f ms", 1e3 * calibration.cpuStartSeconds);
  std::string text =
      calibration.processor + ", " + std::to_string(calibration.threads) + " threads" + line + "\n";
  if (withCuda) {
    std::snprintf(line, sizeof line,
                  ": started in %.3f s, an image takes %.2f ms, ns a byte to the device %.3f (one thread "
                  "%.3f), back %.3f (%.3f)\n",
                  calibration.cudaStartSeconds, 1e3 * calibration.cudaImageSeconds,
                  calibration.upload.allThreads, calibration.upload.oneThread,
                  calibration.download.allThreads, calibration.download.oneThread);
    text += calibration.gpu + line;
  }
  text += "ns an item                 CPU, one thread   all threads"
          + std::string(withCuda ? "          CUDA" : "") + "\n";
  for (const int dimension : {2, 3})
    for (std::size_t i = 0; i < workCount; ++i) {
      const auto work = static_cast<Work>(i);
      if (!isOfCpu(work) && !withCuda)
        continue;
      std::string name = std::to_string(dimension) + "D " + nameOf(work);
      name.resize(30, ' ');
      const ThreadRate& cpu = calibration.of(dimension).cpu[i];
      text += name + number(cpu.oneThread, isOfCpu(work)) + "  " + number(cpu.allThreads, isOfCpu(work))
              + (withCuda ? "  " + number(calibration.of(dimension).cuda[i], isOfCuda(work)) : "") + "\n";
    }
  const ProductRates& products = calibration.products;
  const auto productLine = [&](std::string name, const ThreadRate& cpu, double cuda, bool isOfCuda) {
    name.resize(30, ' ');
    text += name + number(cpu.oneThread, true) + "  " + number(cpu.allThreads, true)
            + (withCuda ? "  " + number(cuda, isOfCuda) : "") + "\n";
  };
  productLine("row of a sparse product", products.row, 0, false);
  productLine("sparse product", products.product, products.cudaProduct, true);
  productLine("entry of a sparse product", products.entry, 0, false);
  productLine("pair of tiles", products.tilePair, products.cudaTilePair, true);
  return text;
}

namespace {

template <int D>
void check(const Registry& registry, const Calibration& calibration, std::vector<Context>& contexts,
           const std::vector<std::size_t>& extents, std::vector<BenchResult>& results)
{
  Size<D> size;
  std::copy_n(extents.begin(), D, size.begin());
  const RateScene<D> scene(registry, contexts.front(), size);
  std::string name;
  for (const std::size_t extent : extents)
    name += (name.empty() ? "" : "x") + std::to_string(extent);
  for (const auto& [word, interpolator, order] :
       {std::tuple{"A", "nearest", 0}, {"A", "linear", 1}, {"B", "linear", 1}, {"BA", "cubic", 3}}) {
    DeviceWork work;
    addImages<D>(work, *scene.chain(word), scene.grid(), order, {{scene.voxels(), 1}}, 1);
    for (Context& context : contexts) {
      const bool onCuda = context.onCuda();
      const double predictedMs =
          1e3
          * (onCuda ? cudaSeconds(calibration, D, work, context.threads) - calibration.cudaStartSeconds
                    : cpuSeconds(calibration, D, work, context.threads) - calibration.cpuStartSeconds);
      const double takenMs = scene.whole(context, word, interpolator);
      for (const auto& [method, ms] : {std::pair{"predicted", predictedMs}, {"taken", takenMs}})
        results.push_back(measuredRow(context, name + " " + word + " " + interpolator, method, {ms, ms},
                                      scene.voxels(), 2 * sizeof(float) * scene.voxels()));
      results.back().ratio = predictedMs / takenMs;
    }
  }
}

}

std::vector<BenchResult> checkCalibration(const Registry& registry, const Calibration& calibration,
                                          const std::string& device, int threads,
                                          const std::vector<std::vector<std::size_t>>& volumes)
{
  std::vector<Context> contexts{Context{Device{}, threads}};
  if (!calibration.gpu.empty())
    contexts.push_back(makeContext(chooseDevice(device, "--device", "").device, threads));
  std::vector<BenchResult> results;
  for (const auto& extents : volumes)
    if (extents.size() == 2)
      check<2>(registry, calibration, contexts, extents, results);
    else
      check<3>(registry, calibration, contexts, extents, results);
  return results;
}

}
