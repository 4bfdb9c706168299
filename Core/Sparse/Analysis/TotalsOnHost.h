#pragma once

#include "Core/Compute/PinnedValues.h"
#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"

#include <cstdint>

namespace tessera {

/// What a kernel writes to the host's memory.
struct ToldTotals {
  AnalysisTotals totals;
  std::uint64_t entries; // of C, if they are known
  std::uint32_t turn;    // written last
};

/// Where the host ends up waiting for totals: a kernel writes them to pinned memory, which the host looks at,
/// instead of a copy and a wait for the stream.
class TotalsOnHost {
public:
  explicit TotalsOnHost(const Context&);

  /// For the kernel that is to tell what wait() waits for.
  TotalsTarget next();
  /// What the kernel that had the last target told. Throws Error(device) if work that was given before
  /// failed.
  const ToldTotals& wait() const;

private:
  Context context_;
  PinnedValues<ToldTotals> told_;
  std::uint32_t turn_ = 0;
};

}
