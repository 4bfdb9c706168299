#pragma once

#include "Core/Compute/Log.h"
#include "Core/Registration/Reporter.h"

#include <algorithm>
#include <vector>

namespace tessera {

/// Where the time of a run went.
class TimeParts {
public:
  void add(const TimeRow& row)
  {
    const auto known = std::ranges::find(rows_, row.part, &TimeRow::part);
    if (known != rows_.end())
      known->milliseconds += row.milliseconds;
    else if (row.milliseconds > 0)
      rows_.push_back(row);
  }
  /// The rows, which "other" makes add up to the whole; they go to the log as details.
  std::vector<TimeRow> of(double wholeMs, Log& log) const
  {
    std::vector<TimeRow> all = rows_;
    double sum = 0;
    for (const TimeRow& row : rows_)
      sum += row.milliseconds;
    all.push_back({"other", wholeMs - sum, "cpu"});
    log.detail("Time of the run by parts:");
    for (const TimeRow& row : all)
      log.detail("  " + row.part + ": " + decimals(row.milliseconds, 3) + " ms, "
                 + decimals(100 * row.milliseconds / wholeMs, 1) + " %, " + row.device);
    log.detail("  total: " + decimals(wholeMs, 3) + " ms");
    return all;
  }

private:
  std::vector<TimeRow> rows_;
};

}
