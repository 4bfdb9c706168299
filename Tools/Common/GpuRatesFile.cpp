#include "Tools/Common/GpuRatesFile.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/Log.h"
#include "Core/Compute/Performance/DeviceRates.h"
#include "Core/Compute/Performance/GpuAttributes.h"
#include "Core/Compute/Performance/GpuRateNames.h"
#include "Core/Compute/Performance/Microbenchmarks.h"
#include "Core/Parameters/ParameterText.h"
#include "Tools/Common/CalibrationFile.h"

#include <algorithm>
#include <cctype>
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

std::string whyNotStored(const std::string& path)
{
  if (path.empty())
    return "there is no folder of settings: HOME is not set";
  try {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    const AtomicFile check(path);
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

namespace {

std::string joined(const std::vector<std::string>& sentences)
{
  std::string text;
  for (const std::string& sentence : sentences)
    text += "; " + sentence;
  return text;
}

KnownGpu findOut(const Device& device)
{
  const GpuAttributes told = attributesOfCudaDevice(device.ordinal);
  std::vector<std::string> assumed;
  const GpuRates scaled = ratesByAttributes(told, assumed);
  const std::string path = gpuRatesPath(scaled.gpu);
  std::string whyNotRead;
  try {
    if (std::optional<GpuRates> stored = storedGpuRates(scaled.gpu)) {
      std::vector<std::string> unusable = replaceUnusable(*stored, scaled);
      for (std::string& rate : unusable)
        rate += " is 0 there and by what the driver says here";
      return {*stored, told.name, "rates of " + path + joined(unusable), false, ""};
    }
  } catch (const Error& error) {
    whyNotRead = error.what();
  }
  const auto unmeasured = [&](const std::string& why) {
    return KnownGpu{scaled, told.name,
                    "rates by what the driver tells (not measured: " + why + joined(assumed) + ")", false,
                    whyNotRead};
  };
  if (const std::string why = whyNotStored(path); !why.empty())
    return unmeasured(why); // measuring in every run would take longer than it gains
  try {
    Context context = makeContext(device, 1);
    std::vector<std::string> unusable;
    const GpuRates measured = measureGpuRates(context, unusable);
    if (const std::string why = whySlowerThanTold(measured, told); !why.empty())
      return {measured, told.name,
              "rates measured now and not stored, because other work seems to run on the GPU: " + why
                  + ". If none does, `tessera-bench calibrate --model` stores them" + joined(unusable),
              true, whyNotRead};
    writeTextFile(path, gpuRatesText(measured));
    return {measured, told.name,
            "rates measured now, once for this GPU, and stored in " + path + joined(unusable), true,
            whyNotRead};
  } catch (const Error& error) {
    return unmeasured(error.what());
  }
}

}

const KnownGpu& KnownGpus::of(const Device& device)
{
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(device.ordinal);
  if (found != known_.end())
    return found->second;
  const KnownGpu& gpu = known_.emplace(device.ordinal, findOut(device)).first->second;
  setDeviceRates(device.ordinal, gpu.rates);
  return gpu;
}

void KnownGpus::tell(const Context& context, Log& log)
{
  if (!context.onCuda())
    return;
  const KnownGpu& gpu = of(context.device);
  const std::string line = "GPU: " + gpu.rates.gpu + ": " + gpu.source + ".";
  const std::lock_guard lock(mutex_);
  if (!gpu.whyNotRead.empty() && !told_.contains(context.device.ordinal))
    log.warning("the stored rates of the GPU are not used: " + gpu.whyNotRead);
  const bool isNews = told_.insert(context.device.ordinal).second && gpu.isMeasuredNow;
  isNews ? log.info(line) : log.detail(line);
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
