#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Memory/PinnedValues.h"
#include "Core/Sparse/Analysis/ProductAnalysisOnCuda.h"

#include <cstdint>

namespace tessera {

/// The totals as a kernel writes them to the host's memory.
struct ReportedTotals {
  AnalysisTotals totals;
  std::uint64_t entries; // entries of C, if they are known
  std::uint32_t turn;    // number of the report, written last
};

/// Lets the host wait for totals. A kernel writes them to pinned memory of the host, and the host watches
/// that memory. This takes less time than a copy followed by a wait for the stream.
class TotalsOnHost {
public:
  TESSERA_CUDA_ONLY explicit TotalsOnHost(const Context&);

  /// The target for the next kernel that reports; wait() waits for its report.
  TotalsTarget next();
  /// Waits for the report to the last target and returns it. Throws Error(device) if earlier work on the
  /// stream failed.
  const ReportedTotals& wait() const;

private:
  Context context_;
  PinnedValues<ReportedTotals> reported_;
  std::uint32_t turn_ = 0;
};

}
