#pragma once

#include "Core/Compute/JoinedText.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tessera {

/// A measurement, one row of the table that every benchmark prints.
struct BenchResult {
  std::string caseName, method, device;
  double ms = 0;                    // median, with caches flushed before each repeat
  double msWarm = 0;                // median, with caches as the last repeat left them
  double items = 0;                 // voxels, samples or products
  double bytes = 0;                 // bytes that must be moved
  std::optional<double> share = {}; // of the limit that `shareOf` names; 1 means that it is reached
  std::string shareOf = {};
  std::optional<double> meanError = {}, largestError = {};
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

/// A cell of a table: nothing, a number or words.
using BenchCell = std::variant<std::monostate, double, std::string>;

inline BenchCell cellOf(std::optional<double> value)
{
  return value ? BenchCell(*value) : BenchCell();
}

/// A table whose columns are its own, such as one of a publication with its numbers beside ours.
struct BenchTable {
  struct Column {
    template <class Text>
    Column(Text text, const char* numberFormat = "%.4g") : name(std::move(text)), format(numberFormat)
    {
    }
    std::string name;
    const char* format; // of printf, for numbers
  };
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<BenchCell>> rows;
};

struct BenchReport {
  std::vector<BenchResult> results;
  std::vector<BenchTable> tables = {};
};

/// A name such as "207x256x215".
template <class Extents>
std::string extentsName(const Extents& extents)
{
  return joined(extents, "x", [](auto extent) { return std::to_string(extent); });
}

/// The machine and, if wanted, its CUDA devices with their properties, for the head of a report.
std::string machineText(bool withCuda);

/// Tables with aligned columns: the results, if there are any, and the others below them.
std::string tableText(const std::string& machine, const BenchReport&);

/// JSON: {"machine": ..., "results": [{"case", "method", "device", "ms", "bytes", "share", ...}], "tables":
/// [{"title", "rows": [{name of a column: its cell}]}]}. Cells without a value and an empty list of tables
/// are left out.
std::string jsonText(const std::string& machine, const BenchReport&);

}
