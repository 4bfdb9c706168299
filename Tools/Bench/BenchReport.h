#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// One measurement; every benchmark prints these.
struct BenchResult {
  std::string caseName, method, device;
  double ms = 0;               // median, caches flushed before each repeat
  double msWarm = 0;           // median, caches left as the repeat before left them
  double items = 0;            // voxels, samples, ...
  double bytes = 0;            // that must move
  std::optional<double> share; // of the limit that `shareOf` names, 1 is all of it
  std::string shareOf;
  std::optional<double> meanError, largestError;
  std::optional<double> ratio = {};      // of the baseline's time to this one's
  std::optional<double> rmsError = {};   // root of the mean square
  std::optional<double> mismatches = {}; // items that differ though they should not
};

/// "name, n multiprocessors ..." of the machine and its devices, for the head of a report.
std::string machineText(bool withCuda);

/// Aligned columns for people.
std::string tableText(const std::string& machine, const std::vector<BenchResult>&);

/// {"machine": ..., "results": [{"case", "method", "device", "ms", "bytes", "share", ...}]}
std::string jsonText(const std::string& machine, const std::vector<BenchResult>&);

double median(std::vector<double> values);

}
