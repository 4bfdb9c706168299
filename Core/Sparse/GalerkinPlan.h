#pragma once

#include "Core/Sparse/SpGemm.h"

#include <memory>
#include <optional>

namespace tessera {

/// The Galerkin product R A P of a level of algebraic multigrid (P. Vanek, J. Mandel and M. Brezina,
/// "Algebraic multigrid by smoothed aggregation", 1996), made again and again for other values of A: R and P
/// stay, and so do the patterns of both products. It is R (A P), unless R A alone takes fewer products than A
/// P alone: then it is (R A) P. On the CPU the bits are those of these two products made by multiply(). On a
/// GPU sums may round in another order, which follows from the patterns alone. GalerkinPlanOnCuda does the
/// same for matrices that stay in device memory.
template <class V>
class GalerkinPlan {
public:
  /// R is the transpose of P. Takes from the options semiring, algorithm and maxMemoryBytes; throws as
  /// SpGemm.h says.
  GalerkinPlan(const Context&, const CsrMatrix<V>& a, const CsrMatrix<V>& p,
               const SpGemmOptions<V>& options = {});
  GalerkinPlan(const Context&, const CsrMatrix<V>& r, const CsrMatrix<V>& a, const CsrMatrix<V>& p,
               const SpGemmOptions<V>& options = {});
  ~GalerkinPlan();

  /// R A P for the values of A that the constructor was given.
  const CsrMatrix<V>& first() const { return first_; }
  /// True for (R A) P, false for R (A P).
  bool startsWithR() const { return startsWithR_; }
  /// The entries of A P, or of R A. They exist while a product is made.
  std::uint64_t entriesBetween() const { return entriesBetween_; }

  /// R A P for other values of A, in the order of the entries as the constructor was given them.
  CsrMatrix<V> execute(const Array<V>& a);

private:
  struct OnCuda;

  bool startsWithR_;
  Array<V> ofR_, ofP_;
  std::optional<SpGemmPlan<V>> inner_, outer_; // used on the CPU
  std::unique_ptr<OnCuda> onCuda_;             // used on a CUDA device
  std::uint64_t entriesBetween_ = 0;
  CsrMatrix<V> first_;
};

}
