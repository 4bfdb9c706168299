#include "Core/Parameters/Calibration.h"

#include "Core/Compute/Log.h"
#include "Core/Parameters/ParameterText.h"
#include "ShippedCalibration.h" // made of ShippedCalibration.txt

#include <algorithm>
#include <vector>

namespace tessera {
namespace {

constexpr const char* writeAnew = "Allowed: a file that `tessera-bench calibrate` wrote";

/// No item takes longer, and no start. Larger numbers are a damaged file's.
constexpr double maxNanoseconds = 1e9, maxSeconds = 1e4;
constexpr double maxThreads = 1e6; // nor has any machine more

/// The rate of the CPU in files of version 1 by which those of this version are scaled, and its number in the
/// file that was shipped with it.
constexpr const char* earlierRate = "Cpu3DPointSpline";
constexpr double earlierShipped = 32.74;

/// Calls visit(name, numbers, count) for the rates of the CPU that only this version has.
template <class OfCalibration, class Visit>
void forEachCpuRate(OfCalibration& calibration, Visit&& visit)
{
  visit("CpuSpeedup", &calibration.cpuSpeedup, 1);
  for (const int dimension : {2, 3})
    for (const bool isOther : {false, true})
      for (const bool isLattice : {false, true})
        visit("Cpu" + std::to_string(dimension) + "D" + (isLattice ? "Lattice" : "Drawn")
                  + (isOther ? "Spline" : "Linear"),
              &calibration.sample[dimension - 2][isOther][isLattice], 1);
  visit("CpuVoxel", &calibration.voxel, 1);
}

/// Visits the other numbers, whose names begin with "Cpu" and "Cuda", as forEachCpuRate() does.
template <class OfCalibration, class Visit>
void forEachOtherRate(OfCalibration& calibration, Visit&& visit)
{
  auto& products = calibration.products;
  visit("CpuSparseRow", &products.row.oneThread, 2);
  visit("CpuSparseProduct", &products.product.oneThread, 2);
  visit("CpuSparseEntry", &products.entry.oneThread, 2);
  visit("CpuTilePair", &products.tilePair.oneThread, 2);
  visit("CudaStartSeconds", &calibration.cudaStartSeconds, 1);
  visit("CudaEvaluationSeconds", &calibration.cudaEvaluationSeconds, 1);
  visit("CudaByte", &calibration.cudaByte, 1);
  visit("CudaSparseUpload", &products.upload.oneThread, 2);
  visit("CudaSparseDownload", &products.download.oneThread, 2);
  visit("CudaSparseProduct", &products.cudaProduct, 1);
  visit("CudaTilePair", &products.cudaTilePair, 1);
}
static_assert(sizeof(ThreadRate) == 2 * sizeof(double)); // visited as an array of two numbers

/// The entries of a file, and how many of them were read.
class Entries {
public:
  explicit Entries(const ParameterMap& map) : map_(map) {}

  const ParameterEntry& required(const std::string& name)
  {
    const ParameterEntry* entry = map_.find(name);
    if (!entry)
      failUsage(map_.fileName(), "(" + name + " ...) is missing", writeAnew);
    ++read_;
    return *entry;
  }

  template <class T>
  T single(const std::string& name, const Parameter<T>& row)
  {
    const ParameterEntry& entry = required(name);
    if (entry.values.size() != 1)
      failUsage(shownEntry(map_, entry), "one value is needed", writeAnew);
    return readValue<T>(row, map_, entry, 0, {});
  }

  void numbers(const std::string& name, double* numbers, std::size_t count)
  {
    const ParameterEntry& entry = required(name);
    if (entry.values.size() != count)
      failUsage(shownEntry(map_, entry),
                count == 2 ? "two numbers are needed, of one thread and of all" : "one number is needed",
                writeAnew);
    Parameter<double> row = realParameter(name, 0, Arity::list, "", "");
    row.minimum = 0;
    row.maximum = name.ends_with("Seconds") ? maxSeconds : maxNanoseconds;
    for (std::size_t i = 0; i < count; ++i)
      numbers[i] = readValue<double>(row, map_, entry, i, {});
  }

  std::int64_t version()
  {
    const auto found =
        single("CalibrationVersion", integerParameter("CalibrationVersion", 0, 0, Arity::single, "", ""));
    if (found != 1 && found != Calibration::version)
      failUsage(shownEntry(map_, *map_.find("CalibrationVersion")),
                "this program reads versions 1 and " + std::to_string(Calibration::version), writeAnew);
    return found;
  }

  bool has(const std::string& name) const { return map_.find(name) != nullptr; }
  std::size_t left() const { return map_.entries().size() - read_; }

private:
  const ParameterMap& map_;
  std::size_t read_ = 0;
};

/// Scales the shipped rates of the CPU as much as a rate that files of version 1 have.
void readEarlierCpu(Entries& entries, Calibration& calibration)
{
  ThreadRate rate;
  entries.numbers(earlierRate, &rate.oneThread, 2);
  const double slower = rate.oneThread / earlierShipped;
  for (auto& ofDimension : calibration.sample)
    for (auto& ofTransform : ofDimension)
      for (double& ofSampler : ofTransform)
        ofSampler *= slower;
  calibration.voxel *= slower;
  calibration.cpuSpeedup = rate.oneThread / rate.nanoseconds(calibration.threads, calibration.threads);
}

Calibration read(const ParameterMap& map, Calibration calibration)
{
  Entries entries(map);
  const bool isEarlier = entries.version() == 1;
  const auto text = [](const char* name) { return textParameter(name, "", Arity::single, ""); };
  calibration.processor = entries.single("Processor", text("Processor"));
  Parameter<std::int64_t> threads = integerParameter("Threads", 1, 1, Arity::single, "", "");
  threads.maximum = maxThreads;
  calibration.threads = static_cast<int>(entries.single("Threads", threads));
  calibration.gpu = entries.has("Gpu") ? entries.single("Gpu", text("Gpu")) : "";
  if (isEarlier)
    readEarlierCpu(entries, calibration);
  else
    forEachCpuRate(calibration, [&](const std::string& name, double* numbers, std::size_t count) {
      entries.numbers(name, numbers, count);
    });
  forEachOtherRate(calibration, [&](const std::string& name, double* numbers, std::size_t count) {
    if ((name.starts_with("Cpu") || !calibration.gpu.empty()) && (!isEarlier || entries.has(name)))
      entries.numbers(name, numbers, count);
  });
  calibration.source = map.fileName();
  if (isEarlier)
    calibration.source += ", of an earlier program";
  if (entries.left() > 0)
    calibration.source += " (" + std::to_string(entries.left()) + " of its lines are not used)";
  return calibration;
}

}

double ThreadRate::nanoseconds(int measuredThreads, int threads) const
{
  const double shared =
      measuredThreads > 1 ? std::clamp((oneThread - allThreads) / (1 - 1.0 / measuredThreads), 0.0, oneThread)
                          : oneThread;
  return oneThread - shared + shared / threads;
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

const Calibration& shippedCalibration()
{
  static const Calibration shipped = [] {
    std::vector<std::string> notes;
    Calibration calibration =
        read(parseParameterText(shippedCalibrationText, "shipped calibration", notes), {});
    calibration.source = "shipped rates";
    return calibration;
  }();
  return shipped;
}

Calibration calibrationOf(const ParameterMap& map)
{
  return read(map, shippedCalibration());
}

std::string calibrationText(const Calibration& calibration)
{
  std::string text = "// Rates by which `--device auto` chooses; written by `tessera-bench calibrate`.\n"
                     "(CalibrationVersion "
                     + std::to_string(Calibration::version) + ")\n(Processor \"" + calibration.processor
                     + "\")\n(Threads " + std::to_string(calibration.threads) + ")\n"
                     + (calibration.gpu.empty() ? "" : "(Gpu \"" + calibration.gpu + "\")\n")
                     + "\n// Nanoseconds an item: a sample, a voxel, a byte, a multiplication. Two numbers: "
                       "with one thread, with all.\n";
  const auto write = [&](const std::string& name, const double* numbers, std::size_t count) {
    if (!name.starts_with("Cpu") && calibration.gpu.empty())
      return;
    text += "(" + name;
    for (std::size_t i = 0; i < count; ++i)
      text += " " + realText(numbers[i]);
    text += ")\n";
  };
  forEachCpuRate(calibration, write);
  forEachOtherRate(calibration, write);
  return text;
}

}
