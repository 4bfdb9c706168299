#include "Core/Parameters/Calibration.h"

#include "Core/Compute/Log.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

struct WorkName {
  const char* name;
  bool onCpu, onCuda;
  // Additions, multiplications or both together, in double precision, of an item on CUDA.
  int fp64Of2D, fp64Of3D;
};

constexpr WorkName workNames[workCount] = {
    {"DirectNearest", true, true, 0, 0},       {"DirectLinear", true, true, 0, 0},
    {"DirectCubic", true, true, 0, 0},         {"DirectMajority", false, true, 0, 0},
    {"DirectSpline", false, true, 0, 0},       {"PointNearest", true, true, 6, 15},
    {"PointLinear", true, true, 12, 28},       {"PointCubic", true, true, 45, 125},
    {"PointMajority", true, true, 12, 30},     {"PointLinearTransform", true, true, 4, 9},
    {"PointAlignedSpline", true, false, 0, 0}, {"PointSpline", true, true, 60, 300},
    {"PointLandmark", true, true, 15, 23},     {"Prefilter", true, true, 0, 0},
    {"FieldDisplacements", true, true, 0, 0},  {"FieldDeterminants", true, true, 0, 0},
    {"FieldMatrices", true, true, 0, 0}};

double fp64Of(int dimension, std::size_t work)
{
  return dimension == 2 ? workNames[work].fp64Of2D : workNames[work].fp64Of3D;
}

/// The geometric mean of ratios, 1 without any.
class GeometricMean {
public:
  void add(double ratio)
  {
    if (ratio > 0 && std::isfinite(ratio)) {
      logarithms_ += std::log(ratio);
      ++count_;
    }
  }
  double value() const { return count_ > 0 ? std::exp(logarithms_ / count_) : 1; }

private:
  double logarithms_ = 0;
  int count_ = 0;
};

/// The speed of the H200 on which the shipped rates were measured: multiprocessors and GHz, and bytes a
/// nanosecond of a copy, of which its driver tells 4917 and an H100 reaches 0.87 of what its driver tells.
constexpr double shippedArithmetic = 132 * 1.98, shippedMemory = 0.87 * 4917;

}

const char* nameOf(Work work)
{
  return workNames[static_cast<std::size_t>(work)].name;
}

bool isOfCpu(Work work)
{
  return workNames[static_cast<std::size_t>(work)].onCpu;
}

bool isOfCuda(Work work)
{
  return workNames[static_cast<std::size_t>(work)].onCuda;
}

double ThreadRate::nanoseconds(int measuredThreads, int threads) const
{
  const double shared =
      measuredThreads > 1 ? std::clamp((oneThread - allThreads) / (1 - 1.0 / measuredThreads), 0.0, oneThread)
                          : oneThread;
  return oneThread - shared + shared / threads;
}

ProductRates Calibration::scaledProducts(int wanted, double cpuFactor, double cudaFactor) const
{
  ProductRates scaled = products;
  const auto scale = [&](ThreadRate& rate, double factor) {
    rate = {factor * rate.oneThread, factor * rate.nanoseconds(threads, wanted)};
  };
  for (ThreadRate* rate : {&scaled.row, &scaled.product, &scaled.entry, &scaled.tilePair})
    scale(*rate, cpuFactor);
  for (ThreadRate* rate : {&scaled.upload, &scaled.download})
    scale(*rate, 1);
  scaled.cudaProduct *= cudaFactor;
  scaled.cudaTilePair *= cudaFactor;
  return scaled;
}

Calibration Calibration::withShippedCuda() const
{
  const Calibration& shipped = shippedCalibration();
  Calibration joined = shipped;
  joined.source = source + ", of CUDA the shipped ones";
  joined.processor = processor;
  joined.threads = threads;
  joined.cpuStartSeconds = cpuStartSeconds;
  for (const auto rate :
       {&Calibration::upload, &Calibration::download}) { // the shipped host's, for this number of threads
    const ThreadRate& measured = shipped.*rate;
    joined.*rate = {measured.oneThread, measured.nanoseconds(shipped.threads, threads)};
  }
  for (const int dimension : {2, 3})
    joined.of(dimension).cpu = of(dimension).cpu;
  joined.products = shipped.scaledProducts(threads, 1, 1);
  joined.products.row = products.row;
  joined.products.product = products.product;
  joined.products.entry = products.entry;
  joined.products.tilePair = products.tilePair;
  return joined;
}

Calibration Calibration::scaledTo(const std::string& gpu, const GpuRates& rates) const
{
  Calibration scaled = hasShippedCuda ? *this : withShippedCuda();
  if (gpu == scaled.gpu)
    return scaled;
  scaled.gpu = gpu;
  scaled.source += " scaled to an " + gpu;
  constexpr double bytesAVoxel = 8; // a float is read and one written
  constexpr double lanes = 32;
  const double memory = 1e-9 * rates.dramCopyBytes,                       // bytes a nanosecond
      fp64 = lanes * rates.fp64 * rates.multiprocessors * rates.clockGHz, // operations a nanosecond
      slower = shippedArithmetic / (rates.multiprocessors * rates.clockGHz),
               slowerMemory = shippedMemory / memory;
  for (const int dimension : {2, 3})
    for (std::size_t i = 0; i < workCount; ++i)
      if (static_cast<Work>(i) < Work::fieldDisplacements) // the time of fields is the host's
        if (double& rate = scaled.of(dimension).cuda[i]; rate > 0)
          rate = std::max({rate * slower, bytesAVoxel / memory, fp64Of(dimension, i) / fp64});
  for (double* rate : {&scaled.products.cudaProduct, &scaled.products.cudaTilePair})
    *rate *= std::max(slower, slowerMemory);
  const auto atLeast = [](ThreadRate& rate, double bytesPerSecond) {
    for (double* each : {&rate.oneThread, &rate.allThreads})
      *each = std::max(*each, 1e9 / bytesPerSecond);
  };
  for (ThreadRate* rate : {&scaled.upload, &scaled.products.upload})
    atLeast(*rate, rates.pinnedUpload);
  for (ThreadRate* rate : {&scaled.download, &scaled.products.download})
    atLeast(*rate, rates.pinnedDownload);
  return scaled;
}

double Calibration::cpuScale(int wanted) const
{
  const Calibration& shipped = shippedCalibration();
  const auto nanoseconds = [&](const Calibration& calibration, Work work) {
    return calibration.of(3).cpu[static_cast<std::size_t>(work)].nanoseconds(calibration.threads, wanted);
  };
  GeometricMean mean;
  for (const Work work : {Work::directLinear, Work::pointLinear, Work::pointAlignedSpline, Work::pointSpline})
    mean.add(nanoseconds(*this, work) / nanoseconds(shipped, work));
  return mean.value();
}

double Calibration::cpuSpeedup(int wanted) const
{
  GeometricMean mean;
  for (const int dimension : {2, 3})
    for (const Work work : {Work::pointSpline, Work::pointLandmark}) {
      const ThreadRate& rate = of(dimension).cpu[static_cast<std::size_t>(work)];
      mean.add(rate.oneThread / rate.nanoseconds(threads, wanted));
    }
  return mean.value();
}

double Calibration::cudaScale() const
{
  GeometricMean mean;
  for (std::size_t i = 0; i < workCount; ++i)
    if (static_cast<Work>(i) < Work::fieldDisplacements)
      mean.add(of(3).cuda[i] / shippedCalibration().of(3).cuda[i]);
  return mean.value();
}

std::string timeText(double seconds)
{
  constexpr double minute = 60, hour = 3600;
  if (seconds >= 2 * hour)
    return decimals(seconds / hour, 1) + " h";
  if (seconds >= 2 * minute)
    return decimals(seconds / minute, seconds < 10 * minute ? 1 : 0) + " min";
  return decimals(seconds, seconds >= 100 ? 0 : seconds >= 10 ? 1 : seconds >= 1 ? 2 : 3) + " s";
}

}
