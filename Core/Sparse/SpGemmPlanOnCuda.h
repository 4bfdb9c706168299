#pragma once

#include "Core/Sparse/SpGemmOnCuda.h"

#include <optional>

namespace tessera {

/// A product on a CUDA device whose pattern is known and whose numbers are computed again and again: what the
/// analysis found, the pattern of C and the memory of tiles are kept.
template <class V>
class SpGemmPlanOnCuda {
public:
  /// A and B must outlive the plan, for their patterns. Throws as SpGemmOnCuda::multiply.
  SpGemmPlanOnCuda(const Context&, const CsrOnCuda<V>& a, const CsrOnCuda<V>& b,
                   const SpGemmOnCudaOptions& = {});

  /// Where C has entries; its numbers are not to be read.
  const CsrOnCuda<V>& pattern() const { return known_.c; }
  const SpGemmReport& report() const { return report_; }

  /// The numbers of C for other numbers of A and B, which lie on the device in the order of the entries. The
  /// bits are those of a product that is made anew. Waits once if groups go by tiles, whose numbers have to
  /// be finite, or V is int64. Throws Error(usage) as SpGemmOnCuda::multiply.
  Buffer<V> execute(const V* a, const V* b);

private:
  KnownProductOnCuda<V> patternBy(const SpGemmOnCudaOptions&, SpGemmReport&);
  void refillTiles(const CsrView<V>& a, const CsrView<V>& b);

  Context context_;
  const CsrOnCuda<V>&a_, &b_;
  SpGemmOnCudaOptions options_;
  SpGemmOnCuda spGemm_;
  SpGemmReport report_;
  KnownProductOnCuda<V> known_;
  std::optional<KnownProductOnCuda<V>> byRows_; // for numbers that are not finite, once there were some
};

}
