#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// A measurement, one row of the table that every benchmark prints.
struct BenchResult {
  std::string caseName, method, device;
  double ms = 0;               // median, with caches flushed before each repeat
  double msWarm = 0;           // median, with caches as the last repeat left them
  double items = 0;            // voxels, samples or products
  double bytes = 0;            // bytes that must be moved
  std::optional<double> share; // share of the limit that `shareOf` names; 1 means that the limit is reached
  std::string shareOf;
  std::optional<double> meanError, largestError;
  std::optional<double> ratio = {};      // time of the baseline divided by this time
  std::optional<double> rmsError = {};   // root mean square
  std::optional<double> mismatches = {}; // items that differ although they must not

  /// Sets the share of a limit that takes `limitMs`; 0: it was not measured.
  BenchResult& besideLimit(double limitMs, const std::string& name)
  {
    if (limitMs > 0 && ms > 0) {
      share = limitMs / ms;
      shareOf = name;
    }
    return *this;
  }
};

/// A name such as "207x256x215".
template <class Extents>
std::string extentsName(const Extents& extents)
{
  std::string name;
  for (const auto extent : extents)
    name += (name.empty() ? "" : "x") + std::to_string(extent);
  return name;
}

/// The machine and, if wanted, its CUDA devices with their properties, for the head of a report.
std::string machineText(bool withCuda);

/// A table with aligned columns.
std::string tableText(const std::string& machine, const std::vector<BenchResult>&);

/// JSON: {"machine": ..., "results": [{"case", "method", "device", "ms", "bytes", "share", ...}]}
std::string jsonText(const std::string& machine, const std::vector<BenchResult>&);

}
