#include "Tools/Common/GpuRatesFile.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Performance/GpuRateNames.h"
#include "Core/Parameters/ParameterText.h"
#include "Tools/Common/Calibration.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <filesystem>

namespace tessera {
namespace {

constexpr int version = 1;
constexpr const char* measureAnew = "Allowed: a file that `tessera-bench calibrate --model` wrote";

const ParameterEntry& required(const ParameterMap& map, const std::string& name)
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
  const ParameterEntry& entry = required(map, "GpuRatesVersion");
  if (readValue<std::int64_t>(integerParameter(entry.name, 0, 0, Arity::single, "", ""), map, entry, 0, {})
      != version)
    failUsage(shownEntry(map, entry), "this program reads version " + std::to_string(version), measureAnew);
  GpuRates rates;
  const ParameterEntry& gpu = required(map, "Gpu");
  rates.gpu = readValue<std::string>(textParameter(gpu.name, "", Arity::single, ""), map, gpu, 0, {});
  std::vector<std::string> known{"GpuRatesVersion", "Gpu"};
  for (const GpuRateName& rate : gpuRateNames()) {
    known.push_back(rate.name);
    Parameter<double> row = realParameter(rate.name, 0, Arity::single, "", "");
    row.minimum = 0;
    rates.*rate.value = readValue<double>(row, map, required(map, rate.name), 0, {});
  }
  for (const ParameterEntry& found : map.entries())
    if (std::find(known.begin(), known.end(), found.name) == known.end())
      throw Error(ExitCode::usage, shownEntry(map, found) + ": no rate has this name."
                                       + didYouMean(found.name, known) + " " + measureAnew + ".");
  return rates;
}

std::string gpuRatesPath(const std::string& gpu)
{
  const std::string calibration = calibrationPath();
  if (calibration.empty())
    return "";
  std::string name = gpu;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '-';
  return (std::filesystem::path(calibration).parent_path() / "gpus" / (name + ".txt")).string();
}

std::optional<GpuRates> storedGpuRates(const std::string& gpu)
{
  const std::string path = gpuRatesPath(gpu);
  std::error_code ignored;
  if (path.empty() || !std::filesystem::exists(path, ignored))
    return std::nullopt;
  std::vector<std::string> notes;
  return withContext("rates of a GPU", [&] { return gpuRatesOf(readParameterFile(path, notes)); });
}

std::vector<std::string> replaceUnusable(GpuRates& rates)
{
  std::vector<std::string> replaced;
  for (const GpuRateName& rate : gpuRateNames())
    if (!(std::isfinite(rates.*rate.value) && rates.*rate.value > 0)) {
      rates.*rate.value = usualGpuRates().*rate.value;
      replaced.push_back(rate.name);
    }
  return replaced;
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

}
