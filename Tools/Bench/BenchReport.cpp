#include "Tools/Bench/BenchReport.h"

#include "Core/Compute/Cuda/Stream.h"
#include "Tools/Common/Process.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <thread>

namespace tessera {
namespace {

std::string number(const char* format, std::optional<double> value)
{
  if (!value)
    return "";
  char text[64];
  std::snprintf(text, sizeof text, format, *value);
  return text;
}

}

std::string machineText(bool withCuda)
{
  std::string text =
      processorName() + ", " + std::to_string(std::thread::hardware_concurrency()) + " threads";
  const CudaDevices cuda = withCuda ? findCudaDevices() : CudaDevices{};
  for (const CudaDevice& device : cuda.found) {
    char more[160];
    std::snprintf(more, sizeof more, "; %s, %d multiprocessors at %.2f GHz, %.0f GB, cache %.0f MB",
                  device.name.c_str(), device.multiprocessors, device.clockGHz,
                  static_cast<double>(device.memoryBytes) * 1e-9,
                  static_cast<double>(device.cacheBytes) * 1e-6);
    text += more;
  }
  return text;
}

std::string tableText(const std::string& machine, const std::vector<BenchResult>& results)
{
  std::vector<std::vector<std::string>> rows{{"case", "method", "device", "ms", "warm ms", "ns/item",
                                              "bytes/item", "share %", "of", "mean error", "rms error",
                                              "largest", "mismatches", "ratio"}};
  for (const BenchResult& r : results)
    rows.push_back({r.caseName, r.method, r.device, number("%.4f", r.ms), number("%.4f", r.msWarm),
                    number("%.4f", 1e6 * r.ms / r.items), number("%.1f", r.bytes / r.items),
                    number("%.1f", r.share ? std::optional(100 * *r.share) : std::nullopt), r.shareOf,
                    number("%.2g", r.meanError), number("%.2g", r.rmsError), number("%.2g", r.largestError),
                    number("%.0f", r.mismatches), number("%.2f", r.ratio)});
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], row[c].size());
  std::string text = machine + "\n";
  for (const auto& row : rows) {
    std::string line = "|";
    for (std::size_t c = 0; c < row.size(); ++c)
      line += " " + row[c] + std::string(widths[c] - row[c].size(), ' ') + " |";
    text += line + "\n";
    if (&row == &rows.front()) {
      line = "|";
      for (const std::size_t width : widths)
        line += std::string(width + 2, '-') + "|";
      text += line + "\n";
    }
  }
  return text;
}

std::string jsonText(const std::string& machine, const std::vector<BenchResult>& results)
{
  nlohmann::ordered_json report;
  report["machine"] = machine;
  report["results"] = nlohmann::ordered_json::array();
  for (const BenchResult& r : results) {
    nlohmann::ordered_json row{{"case", r.caseName}, {"method", r.method}, {"device", r.device}, {"ms", r.ms},
                               {"msWarm", r.msWarm}, {"items", r.items},   {"bytes", r.bytes}};
    const auto addIf = [&](const char* name, const std::optional<double>& value) {
      if (value)
        row[name] = *value;
    };
    addIf("share", r.share);
    if (!r.shareOf.empty())
      row["shareOf"] = r.shareOf;
    addIf("meanError", r.meanError);
    addIf("rmsError", r.rmsError);
    addIf("largestError", r.largestError);
    addIf("mismatches", r.mismatches);
    addIf("ratio", r.ratio);
    report["results"].push_back(row);
  }
  return report.dump(2) + "\n";
}

}
