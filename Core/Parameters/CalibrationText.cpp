#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Parameters/Calibration.h"
#include "Core/Parameters/ParameterText.h"
#include "ShippedCalibration.h" // made of ShippedCalibration.txt

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace tessera {
namespace {

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
      const auto work = static_cast<Work>(i);
      const std::string name = std::to_string(dimension) + "D" + nameOf(work);
      if (isOfCpu(work))
        visit("Cpu" + name, &calibration.of(dimension).cpu[i].oneThread, 2, false);
      if (isOfCuda(work))
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
    calibration.products = shippedCalibration().scaledProducts(calibration.threads, calibration.cpuScale(1),
                                                               calibration.cudaScale());
  forEachProductNumber(calibration,
                       [&](const std::string& name, double* numbers, std::size_t count, bool isOfCuda) {
                         if (map.find(name) && !(isOfCuda && calibration.gpu.empty()))
                           readNumbers(map, name, numbers, count);
                       });
}

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
  Parameter<std::int64_t> threadsRow = integerParameter(threads.name, 1, 1, Arity::single, "", "");
  threadsRow.maximum = maxThreads;
  calibration.threads = static_cast<int>(single(map, threads, threadsRow));
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

}
