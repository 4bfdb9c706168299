#pragma once

#include "Core/Compute/Memory/Buffer.h"
#include "Core/Sparse/SpGemmOptions.h"

#include <functional>
#include <memory>
#include <vector>

namespace tessera {

// C = A B for sparse matrices; SpGemmOptions adds a mask, a factor, a sum and more. A and B may be
// rectangular or empty, and the columns of a row may stand in any order. Results are equal bit for bit for
// any number of threads, and on the CPU also between the methods "rows" and "tiles". V is double, float or
// int64.
//
// All functions throw Error(usage) for sizes or options that do not fit together and for a sum of int64
// beyond 64 bits, Error(unreadableInput) for arrays that make no matrix, Error(device) on a device without
// the method that was asked for, and Error(outOfMemory) once C is known to exceed the memory. `report`
// receives what was found and done.

/// C, with the columns of each row in rising order.
template <class V>
CsrMatrix<V> multiply(const Context&, const CsrMatrix<V>& a, const CsrMatrix<V>& b,
                      const SpGemmOptions<V>& options = {}, SpGemmReport* report = nullptr);

/// Makes C in ranges of rows that stay within the memory limit. Calls consume(first row, the range) for each,
/// from top to bottom.
template <class V>
void multiplyInRanges(const Context&, const CsrMatrix<V>& a, const CsrMatrix<V>& b,
                      const SpGemmOptions<V>& options,
                      const std::function<void(std::size_t, CsrMatrix<V>&&)>& consume,
                      SpGemmReport* report = nullptr);

/// Describes how the product would be computed, without computing it.
template <class V>
SpGemmReport describeProduct(const Context&, const CsrMatrix<V>& a, const CsrMatrix<V>& b,
                             const SpGemmOptions<V>& options = {});

template <class V>
class PreparedProduct;
template <class V>
class PreparedPlanOnCuda;

/// A plan computes the same product again for other values: the patterns of A and B stay, and so does that of
/// C. Options whose pattern depends on values (accumulate, dropTolerance, half) are refused with
/// Error(usage). SpGemmPlanOnCuda does the same for matrices that stay in device memory.
template <class V>
class SpGemmPlan {
public:
  /// `first` receives C for the values of A and B; it shares the plan's pattern.
  SpGemmPlan(const Context&, const CsrMatrix<V>& a, const CsrMatrix<V>& b,
             const SpGemmOptions<V>& options = {}, CsrMatrix<V>* first = nullptr);
  ~SpGemmPlan();
  SpGemmPlan(SpGemmPlan&&) noexcept;
  SpGemmPlan& operator=(SpGemmPlan&&) noexcept;

  const MatrixPattern& pattern() const { return c_; }
  /// C for other values of A and B, in the order of the entries as the constructor was given them. The result
  /// shares the memory of the plan's pattern.
  CsrMatrix<V> execute(const Array<V>& a, const Array<V>& b);

private:
  void takeFirst(CsrMatrix<V>, CsrMatrix<V>* first);

  std::unique_ptr<PreparedProduct<V>> product_;   // used on the CPU
  std::unique_ptr<PreparedPlanOnCuda<V>> onCuda_; // used on a CUDA device
  std::size_t entriesOfA_ = 0, entriesOfB_ = 0;
  // For each entry of the prepared operands: its number in the matrix as it was given. Empty if the order is
  // the same.
  std::vector<std::uint64_t> orderOfA_, orderOfB_;
  MatrixPattern c_;
};

}
