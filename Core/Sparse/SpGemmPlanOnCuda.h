#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Sparse/SpGemmOnCuda.h"

#include <optional>

namespace tessera {

/// A plan computes the same product again for other values of matrices that stay on a CUDA device. It keeps
/// the analysis, the pattern of C and the memory of the tiles.
template <class V>
class SpGemmPlanOnCuda {
public:
  /// The patterns of A and B must outlive the plan. Throws as SpGemmOnCuda::multiply.
  TESSERA_CUDA_ONLY SpGemmPlanOnCuda(const Context&, const CsrOnCuda<V>& a, const CsrOnCuda<V>& b,
                                     const SpGemmOnCudaOptions& = {});

  /// The pattern of C. Its values must not be read.
  const CsrOnCuda<V>& pattern() const { return known_.c; }
  const SpGemmReport& report() const { return report_; }

  /// The values of C for other values of A and B, which lie in device memory in the order of the entries. The
  /// result has the bits of SpGemmOnCuda::multiply. The host waits once if some groups use tiles (to learn
  /// whether all values are finite) or if V is int64. Throws Error(usage) as SpGemmOnCuda::multiply.
  TESSERA_CUDA_ONLY Buffer<V> execute(const V* a, const V* b);

private:
  KnownProductOnCuda<V> patternBy(const SpGemmOnCudaOptions&, SpGemmReport&);
  void refillTiles(const CsrView<V>& a, const CsrView<V>& b);

  Context context_;
  const CsrOnCuda<V>&a_, &b_;
  SpGemmOnCudaOptions options_;
  SpGemmOnCuda spGemm_;
  SpGemmReport report_;
  KnownProductOnCuda<V> known_;
  std::optional<KnownProductOnCuda<V>>
      byRows_; // made when values that are not finite come for the first time
};

}
