#include "Tools/Common/Calibration.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Parameters/ParameterText.h"
#include "ShippedCalibration.h" // made of ShippedCalibration.txt
#include "Tools/Common/GpuRatesFile.h"
#include "Tools/Common/RunLog.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

namespace tessera {
namespace {

struct WorkName {
  const char* name;
  bool onCpu, onCuda;
  int fp64Of2D,
      fp64Of3D; // additions, multiplications or both together, in double precision, of an item on CUDA
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

constexpr const char* writeAnew = "Allowed: a file that `tessera-bench calibrate` wrote with this version";

/// No item takes longer, and no start. Larger numbers are a damaged file's.
constexpr double maxNanoseconds = 1e9, maxSeconds = 1e4;
constexpr double maxThreads = 1e6; // nor has any machine more

/// Calls visit(name, numbers, count, isOfCuda) for the rates of sparse products, which files of earlier
/// programs do not have.
template <class OfCalibration, class Visit>
void forEachProductNumber(OfCalibration& calibration, Visit&& visit)
{
  auto& products = calibration.products;
  visit("CpuSparseRow", &products.row.oneThread, 2, false);
  visit("CpuSparseProduct", &products.product.oneThread, 2, false);
  visit("CpuSparseEntry", &products.entry.oneThread, 2, false);
  visit("CpuTilePair", &products.tilePair.oneThread, 2, false);
  visit("CudaSparseUpload", &products.upload.oneThread, 2, true);
  visit("CudaSparseDownload", &products.download.oneThread, 2, true);
  visit("CudaSparseProduct", &products.cudaProduct, 1, true);
  visit("CudaTilePair", &products.cudaTilePair, 1, true);
}

/// Calls visit(name, numbers, count, isOfCuda) for every other rate of a calibration, with its name in files.
template <class OfCalibration, class Visit>
void forEachNumber(OfCalibration& calibration, Visit&& visit)
{
  visit("CpuStartSeconds", &calibration.cpuStartSeconds, 1, false);
  visit("CudaStartSeconds", &calibration.cudaStartSeconds, 1, true);
  visit("CudaImageSeconds", &calibration.cudaImageSeconds, 1, true);
  visit("CudaUpload", &calibration.upload.oneThread, 2, true);
  visit("CudaDownload", &calibration.download.oneThread, 2, true);
  for (const int dimension : {2, 3})
    for (std::size_t i = 0; i < workCount; ++i) {
      const std::string name = std::to_string(dimension) + "D" + workNames[i].name;
      if (workNames[i].onCpu)
        visit("Cpu" + name, &calibration.of(dimension).cpu[i].oneThread, 2, false);
      if (workNames[i].onCuda)
        visit("Cuda" + name, &calibration.of(dimension).cuda[i], 1, true);
    }
}
static_assert(sizeof(ThreadRate) == 2 * sizeof(double)); // visited as an array of two numbers

const ParameterEntry& required(const ParameterMap& map, const std::string& name)
{
  const ParameterEntry* entry = map.find(name);
  if (!entry)
    failUsage(map.fileName(), "(" + name + " ...) is missing", writeAnew);
  return *entry;
}

template <class T>
T single(const ParameterMap& map, const ParameterEntry& entry, const Parameter<T>& row)
{
  if (entry.values.size() != 1)
    failUsage(shownEntry(map, entry), "one value is needed", writeAnew);
  return readValue<T>(row, map, entry, 0, {});
}

void checkVersion(const ParameterMap& map)
{
  const ParameterEntry& entry = required(map, "CalibrationVersion");
  const auto found = single(map, entry, integerParameter(entry.name, 0, 0, Arity::single, "", ""));
  if (found != Calibration::version)
    failUsage(shownEntry(map, entry), "this program reads version " + std::to_string(Calibration::version),
              writeAnew);
}

void readNumbers(const ParameterMap& map, const std::string& name, double* numbers, std::size_t count)
{
  const ParameterEntry& entry = required(map, name);
  if (entry.values.size() != count)
    failUsage(shownEntry(map, entry),
              count == 2 ? "two numbers are needed, of one thread and of all" : "one number is needed",
              writeAnew);
  Parameter<double> row = realParameter(name, 0, Arity::list, "", "");
  row.minimum = 0;
  row.maximum = name.ends_with("Seconds") ? maxSeconds : maxNanoseconds;
  for (std::size_t i = 0; i < count; ++i)
    numbers[i] = readValue<double>(row, map, entry, i, {});
}

void checkNames(const ParameterMap& map, const std::vector<std::string>& known)
{
  for (const ParameterEntry& entry : map.entries())
    if (std::find(known.begin(), known.end(), entry.name) == known.end())
      throw Error(ExitCode::usage, shownEntry(map, entry) + ": no rate has this name."
                                       + didYouMean(entry.name, known) + " " + writeAnew + ".");
}

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

std::string environment(const char* name)
{
  const char* const value = std::getenv(name);
  return value ? value : "";
}

/// The rates of sparse products for another number of threads, of a CPU and of a GPU that take so many times
/// as long.
ProductRates scaledProducts(const Calibration& calibration, int threads, double ofCpu, double ofCuda)
{
  ProductRates scaled = calibration.products;
  const auto scale = [&](ThreadRate& rate, double factor) {
    rate = {factor * rate.oneThread, factor * rate.nanoseconds(calibration.threads, threads)};
  };
  for (ThreadRate* rate : {&scaled.row, &scaled.product, &scaled.entry, &scaled.tilePair})
    scale(*rate, ofCpu);
  for (ThreadRate* rate : {&scaled.upload, &scaled.download})
    scale(*rate, 1);
  scaled.cudaProduct *= ofCuda;
  scaled.cudaTilePair *= ofCuda;
  return scaled;
}

/// Reads the rates of sparse products; those that the text does not have are the scaled shipped ones.
void readProducts(const ParameterMap& map, Calibration& calibration, std::vector<std::string>& known)
{
  bool hasAll = true;
  forEachProductNumber(calibration, [&](const std::string& name, double*, std::size_t, bool isOfCuda) {
    if (isOfCuda && calibration.gpu.empty())
      return;
    known.push_back(name);
    hasAll = hasAll && map.find(name);
  });
  if (!hasAll)
    calibration.products = scaledProducts(shippedCalibration(), calibration.threads, calibration.cpuScale(1),
                                          calibration.cudaScale());
  forEachProductNumber(calibration,
                       [&](const std::string& name, double* numbers, std::size_t count, bool isOfCuda) {
                         if (map.find(name) && !(isOfCuda && calibration.gpu.empty()))
                           readNumbers(map, name, numbers, count);
                       });
}

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
  joined.products = scaledProducts(shipped, threads, 1, 1);
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

std::string whyNotWorthCuda(double cpuSeconds)
{
  const double startSeconds = storedCalibration().cudaStartSeconds;
  return cpuSeconds > startSeconds ? ""
                                   : "predicted " + decimals(cpuSeconds, 3) + " s, CUDA takes "
                                         + decimals(startSeconds, 3) + " s to start";
}

Calibration calibrationFor(const Calibration& calibration, const Device& device)
{
  const KnownGpu& gpu = knownGpu(device);
  return calibration.gpu == gpu.name ? calibration : calibration.scaledTo(gpu.name, gpu.rates);
}

const Calibration& shippedCalibration()
{
  static const Calibration shipped = [] {
    std::vector<std::string> notes;
    Calibration calibration =
        calibrationOf(parseParameterText(shippedCalibrationText, "shipped calibration", notes));
    calibration.source = "shipped rates";
    calibration.hasShippedCuda = true;
    return calibration;
  }();
  return shipped;
}

Calibration calibrationOf(const ParameterMap& map)
{
  checkVersion(map);
  Calibration calibration;
  calibration.source = map.fileName();
  const ParameterEntry &processor = required(map, "Processor"), &threads = required(map, "Threads");
  calibration.processor = single(map, processor, textParameter(processor.name, "", Arity::single, ""));
  Parameter<std::int64_t> ofThreads = integerParameter(threads.name, 1, 1, Arity::single, "", "");
  ofThreads.maximum = maxThreads;
  calibration.threads = static_cast<int>(single(map, threads, ofThreads));
  if (const ParameterEntry* gpu = map.find("Gpu"))
    calibration.gpu = single(map, *gpu, textParameter(gpu->name, "", Arity::single, ""));
  // Files of earlier programs have a rate of its own for a B-spline along the axes on CUDA; it is not used.
  std::vector<std::string> known{
      "CalibrationVersion",       "Processor", "Threads", "Gpu", "Cuda2DDirectAlignedSpline",
      "Cuda3DDirectAlignedSpline"};
  forEachNumber(calibration, [&](const std::string& name, double* numbers, std::size_t count, bool isOfCuda) {
    if (isOfCuda && calibration.gpu.empty())
      return;
    known.push_back(name);
    readNumbers(map, name, numbers, count);
  });
  readProducts(map, calibration, known);
  checkNames(map, known);
  return calibration.gpu.empty() ? calibration.withShippedCuda() : calibration;
}

std::string calibrationText(const Calibration& calibration)
{
  const bool withCuda = !calibration.gpu.empty();
  std::string text = "// Rates by which `--device auto` chooses; written by `tessera-bench calibrate`.\n"
                     "(CalibrationVersion "
                     + std::to_string(Calibration::version) + ")\n(Processor \"" + calibration.processor
                     + "\")\n(Threads " + std::to_string(calibration.threads) + ")\n"
                     + (withCuda ? "(Gpu \"" + calibration.gpu + "\")\n" : "")
                     + "\n// Nanoseconds an item: a byte, a voxel, a landmark of a voxel, a multiplication. "
                       "Two numbers: with "
                       "one thread, with all.\n";
  const auto write = [&](const std::string& name, const double* numbers, std::size_t count, bool isOfCuda) {
    if (isOfCuda && !withCuda)
      return;
    text += "(" + name;
    for (std::size_t i = 0; i < count; ++i)
      text += " " + realText(numbers[i]);
    text += ")\n";
  };
  forEachNumber(calibration, write);
  forEachProductNumber(calibration, write);
  return text;
}

std::string calibrationPath()
{
  if (const std::string path = environment(calibrationVariable); !path.empty())
    return path;
  const std::string home = environment("HOME");
  std::string config = environment("XDG_CONFIG_HOME");
  if (!config.starts_with("/")) // the XDG Base Directory Specification asks to ignore relative paths
    config.clear();
  if (config.empty() && home.empty())
    return "";
  return (config.empty() ? home + "/.config" : config) + "/tessera/calibration.txt";
}

Calibration storedCalibration()
{
  const std::string path = calibrationPath();
  std::error_code unknown; // whether there is such a file, as in a folder that may not be entered
  if (path.empty()
      || (environment(calibrationVariable).empty() && !std::filesystem::exists(path, unknown) && !unknown))
    return shippedCalibration();
  std::vector<std::string> notes;
  return withContext("calibration for --device auto",
                     [&] { return calibrationOf(readParameterFile(path, notes)); });
}

}
