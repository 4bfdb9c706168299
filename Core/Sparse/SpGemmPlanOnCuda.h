#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Sparse/Rows/InnerProductsOnCuda.h"
#include "Core/Sparse/SpGemmOnCuda.h"

#include <memory>
#include <optional>

namespace tessera {

/// A plan computes the same product again for other values of matrices that stay on a CUDA device. It keeps
/// the analysis, the pattern of C and the memory of the tiles.
template <class V>
class SpGemmPlanOnCuda {
public:
  /// Lists of the products of each entry are several times as fast as rows, and take 8 bytes for each
  /// product. They are made where that is little: for more products if few groups of rows use tiles. Sums
  /// then round in another order than those of SpGemmOnCuda::multiply.
  enum class Lists { none, whereTheyFit };

  /// The patterns of A and B must outlive the plan. Streams and pinned memory, which take longer to make than
  /// a product, are those of a `partner`, if there is one. Throws as SpGemmOnCuda::multiply.
  TESSERA_CUDA_ONLY SpGemmPlanOnCuda(const Context&, const CsrOnCuda<V>& a, const CsrOnCuda<V>& b,
                                     const SpGemmOnCudaOptions& = {}, Lists = Lists::none,
                                     const SpGemmPlanOnCuda* partner = nullptr);

  /// C for the values that the constructor was given. The values are there until the first execution.
  const CsrOnCuda<V>& first() const { return known_.c; }
  /// The pattern of C.
  const CsrOnCuda<V>& pattern() const { return known_.c; }
  const SpGemmReport& report() const { return report_; }
  /// How it multiplies, a line for the log.
  std::string method() const { return lists_ ? "lists of products" : report_.choice; }

  /// The values of C for other values of A and B, which lie in device memory in the order of the entries. The
  /// result has the bits of SpGemmOnCuda::multiply. The host waits once if some groups use tiles (to learn
  /// whether all values are finite) or if V is int64. Throws Error(usage) as SpGemmOnCuda::multiply.
  TESSERA_CUDA_ONLY Buffer<V> execute(const V* a, const V* b);

  // Several plans may be executed with one wait for all: each starts, the stream is waited for, and each
  // tells whether its result is good.
  enum class Other { a, b, both }; // the factor whose values are other ones than in the last execution
  /// Starts an execution. The host waits only if V is int64.
  TESSERA_CUDA_ONLY Buffer<V> start(const V* a, const V* b, Other = Other::both);
  /// Whether isGood() needs a wait for the stream.
  bool needsWait() const { return known_.tileGroups > 0; }
  /// After that wait: false if the result of start() is void, because a tile had a value that is
  /// not finite. execute() then computes it by rows.
  TESSERA_CUDA_ONLY bool isGood() const;

private:
  KnownProductOnCuda<V> patternBy(const SpGemmOnCudaOptions&, SpGemmReport&);
  bool shouldList() const;
  void refillTiles(const CsrView<V>& a, const CsrView<V>& b, Other);
  Buffer<V> byRows(const CsrView<V>& a, const CsrView<V>& b);

  Context context_;
  const CsrOnCuda<V>&a_, &b_;
  SpGemmOnCudaOptions options_;
  std::shared_ptr<SpGemmOnCuda> spGemm_;
  std::size_t place_; // of this plan's totals, 1 for a plan with a partner
  SpGemmReport report_;
  KnownProductOnCuda<V> known_;
  std::optional<KnownProductOnCuda<V>>
      byRows_; // made when values that are not finite come for the first time
  std::optional<ProductListsOnCuda> lists_;
};

}
