#include "Tools/Bench/Model/GpuRatesFile.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Parameters/ParameterText.h"
#include "Tools/Common/BlockSizesFile.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

namespace tessera {
namespace {

constexpr int version = 1;
constexpr const char* measureAnew =
    "Allowed: a file that `tessera-bench calibrate --model` wrote; it measures the GPU and replaces the file";

const ParameterEntry& requiredSingle(const ParameterMap& map, const std::string& name)
{
  const ParameterEntry* entry = map.find(name);
  if (!entry)
    failUsage(map.fileName(), "(" + name + " ...) is missing", measureAnew);
  if (entry->values.size() != 1)
    failUsage(shownEntry(map, *entry), "one value is needed", measureAnew);
  return *entry;
}

}

std::string gpuRatesText(const GpuRates& rates)
{
  std::string text =
      "// A GPU as microbenchmarks measured it; written by `tessera-bench calibrate --model`.\n"
      "(GpuRatesVersion "
      + std::to_string(version) + ")\n(Gpu \"" + rates.gpu + "\")\n";
  for (const GpuRateName& rate : gpuRateNames())
    text += "(" + std::string(rate.name) + " " + realText(rates.*rate.value) + ")"
            + (*rate.unit ? " // " + std::string(rate.unit) : "") + "\n";
  return text;
}

GpuRates gpuRatesOf(const ParameterMap& map)
{
  const ParameterEntry& entry = requiredSingle(map, "GpuRatesVersion");
  if (readValue<std::int64_t>(integerParameter(entry.name, 0, 0, Arity::single, "", ""), map, entry, 0, {})
      != version)
    failUsage(shownEntry(map, entry), "this program reads version " + std::to_string(version), measureAnew);
  GpuRates rates;
  const ParameterEntry& gpu = requiredSingle(map, "Gpu");
  rates.gpu = readValue<std::string>(textParameter(gpu.name, "", Arity::single, ""), map, gpu, 0, {});
  std::vector<std::string> known{"GpuRatesVersion", "Gpu"};
  for (const GpuRateName& rate : gpuRateNames()) {
    known.push_back(rate.name);
    Parameter<double> row = realParameter(rate.name, 0, Arity::single, "", "");
    row.minimum = 0;
    row.maximum = largestOf(rate);
    rates.*rate.value = readValue<double>(row, map, requiredSingle(map, rate.name), 0, {});
  }
  for (const ParameterEntry& found : map.entries())
    if (std::find(known.begin(), known.end(), found.name) == known.end()
        && !found.name.starts_with(blockThreadsPrefix))
      throw Error(ExitCode::usage, shownEntry(map, found) + ": no rate has this name."
                                       + didYouMean(found.name, known) + " " + measureAnew + ".");
  return rates;
}

std::optional<GpuRates> storedGpuRates(const std::string& gpu)
{
  const std::string path = gpuFilePath(gpu);
  std::error_code unknown; // whether there is such a file
  if (path.empty() || (!std::filesystem::exists(path, unknown) && !unknown))
    return std::nullopt;
  std::vector<std::string> notes;
  return withContext("rates of a GPU", [&] {
    const ParameterMap map = readParameterFile(path, notes);
    GpuRates rates = gpuRatesOf(map);
    if (rates.gpu != gpu)
      failUsage(shownEntry(map, *map.find("Gpu")), "this file is read for an " + gpu, measureAnew);
    return rates;
  });
}

std::string gpuRatesTable(const GpuRates& rates)
{
  std::string text = rates.gpu + "\n";
  for (const GpuRateName& rate : gpuRateNames()) {
    char line[160];
    std::snprintf(line, sizeof line, "%-24s %12.5g  %s\n", rate.name, rates.*rate.value, rate.unit);
    text += line;
  }
  return text;
}

namespace {

constexpr const char* perCycle = "a multiprocessor and cycle";

constexpr GpuRateName names[] = {
    {"Multiprocessors", &GpuRates::multiprocessors, ""},
    {"Clock", &GpuRates::clockGHz, "GHz"},
    {"CacheBytes", &GpuRates::cacheBytes, "bytes"},
    {"Schedulers", &GpuRates::schedulers, "a multiprocessor"},
    {"MaxBlocks", &GpuRates::maxBlocks, "a multiprocessor"},
    {"MaxWarps", &GpuRates::maxWarps, "a multiprocessor"},
    {"Registers", &GpuRates::registers, "a multiprocessor"},
    {"SharedBytes", &GpuRates::sharedBytes, "a multiprocessor"},
    {"ReservedSharedBytes", &GpuRates::reservedSharedBytes, "a block"},
    {"LatencyFp32", &GpuRates::latencyFp32, "cycles"},
    {"LatencyFp64", &GpuRates::latencyFp64, "cycles"},
    {"LatencySpecial", &GpuRates::latencySpecial, "cycles"},
    {"LatencySpecialFp64", &GpuRates::latencySpecialFp64, "cycles"},
    {"LatencyConstant", &GpuRates::latencyConstant, "cycles"},
    {"LatencyShared", &GpuRates::latencyShared, "cycles"},
    {"LatencyL1", &GpuRates::latencyL1, "cycles"},
    {"LatencyL2", &GpuRates::latencyL2, "cycles"},
    {"LatencyDram", &GpuRates::latencyDram, "cycles"},
    {"LatencyBarrier", &GpuRates::latencyBarrier, "cycles"},
    {"Issue", &GpuRates::issue, perCycle},
    {"Fp32", &GpuRates::fp32, perCycle},
    {"Fp64", &GpuRates::fp64, perCycle},
    {"Special", &GpuRates::special, perCycle},
    {"Integer", &GpuRates::integer, perCycle},
    {"L1Wavefronts", &GpuRates::l1Wavefronts, perCycle},
    {"SharedWavefronts", &GpuRates::sharedWavefronts, perCycle},
    {"SharedAtomics", &GpuRates::sharedAtomics, perCycle},
    {"L2Bytes", &GpuRates::l2Bytes, "bytes/s"},
    {"L2BytesOfOne", &GpuRates::l2BytesOfOne, "bytes/s"},
    {"DramReadBytes", &GpuRates::dramReadBytes, "bytes/s"},
    {"DramWriteBytes", &GpuRates::dramWriteBytes, "bytes/s"},
    {"DramCopyBytes", &GpuRates::dramCopyBytes, "bytes/s"},
    {"AtomicSectors", &GpuRates::atomicSectors, "a second"},
    {"MeetingSectors", &GpuRates::meetingSectors, "a second"},
    {"BlocksPerSecond", &GpuRates::blocksPerSecond, "a second"},
    {"LaunchSeconds", &GpuRates::launchSeconds, "s"},
    {"PinnedUpload", &GpuRates::pinnedUpload, "bytes/s"},
    {"PinnedDownload", &GpuRates::pinnedDownload, "bytes/s"},
    {"PageableUpload", &GpuRates::pageableUpload, "bytes/s"},
    {"PageableDownload", &GpuRates::pageableDownload, "bytes/s"},
    {"Exponent", &GpuRates::exponent, ""},
};

}

std::span<const GpuRateName> gpuRateNames()
{
  return names;
}

double largestOf(const GpuRateName& rate)
{
  const std::string unit = rate.unit;
  return unit == "cycles"    ? 1e6
         : unit == perCycle  ? 1e4
         : unit == "GHz"     ? 100
         : unit == "s"       ? 10
         : unit == "bytes/s" ? 1e17
                             : 1e15; // counts, and bytes
}

std::vector<std::string> replaceUnusable(GpuRates& rates, const GpuRates& instead)
{
  std::vector<std::string> replaced;
  for (const GpuRateName& rate : names)
    if (!(std::isfinite(rates.*rate.value) && rates.*rate.value > 0)
        && rates.*rate.value != instead.*rate.value) {
      rates.*rate.value = instead.*rate.value;
      replaced.push_back(rate.name);
    }
  return replaced;
}

}
