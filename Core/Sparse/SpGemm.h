#pragma once

#include "Core/Sparse/SpGemmOptions.h"

#include <functional>
#include <memory>
#include <vector>

namespace tessera {

// C = A B; SpGemmOptions says what else. A and B may be any: rectangular, empty, columns of a row in any
// order. Results are equal bit for bit for any number of threads, and by either method of the CPU. V is
// double, float or int64. All throw Error(usage) for sizes or options that do not fit together,
// Error(unreadableInput) for a matrix that is none, Error(device) on a device that has no such method,
// Error(outOfMemory) once C is known to be larger than the memory, and Error(usage) if a sum of int64 is
// beyond 64 bits. `report` receives what was found and done.

/// C with rising columns in each row.
template <class V>
CsrMatrix<V> multiply(const Context&, const CsrMatrix<V>& a, const CsrMatrix<V>& b,
                      const SpGemmOptions<V>& options = {}, SpGemmReport* report = nullptr);

/// Ranges of rows of C, one after the other, each made within the memory limit: consume(its first row, the
/// range).
template <class V>
void multiplyInRanges(const Context&, const CsrMatrix<V>& a, const CsrMatrix<V>& b,
                      const SpGemmOptions<V>& options,
                      const std::function<void(std::size_t, CsrMatrix<V>&&)>& consume,
                      SpGemmReport* report = nullptr);

/// What would be done, without doing it.
template <class V>
SpGemmReport describeProduct(const Context&, const CsrMatrix<V>& a, const CsrMatrix<V>& b,
                             const SpGemmOptions<V>& options = {});

template <class V>
class PreparedProduct;
template <class V>
class PreparedPlanOnCuda;

/// A product whose pattern is known and whose numbers are computed again and again; SpGemmPlanOnCuda is the
/// same for matrices that stay on a CUDA device. D, tolerance and half precision are refused.
template <class V>
class SpGemmPlan {
public:
  SpGemmPlan(const Context&, const CsrMatrix<V>& a, const CsrMatrix<V>& b,
             const SpGemmOptions<V>& options = {});
  ~SpGemmPlan();
  SpGemmPlan(SpGemmPlan&&) noexcept;
  SpGemmPlan& operator=(SpGemmPlan&&) noexcept;

  const MatrixPattern& pattern() const { return c_; }
  /// C for other numbers of A and B, in the order of the entries as they were given; it shares the pattern's
  /// memory.
  CsrMatrix<V> execute(const Array<V>& a, const Array<V>& b);

private:
  std::unique_ptr<PreparedProduct<V>> product_;   // on the CPU
  std::unique_ptr<PreparedPlanOnCuda<V>> onCuda_; // or on a CUDA device
  std::size_t entriesOfA_ = 0, entriesOfB_ = 0;
  std::vector<std::uint64_t> orderOfA_,
      orderOfB_; // which number of A or B each prepared one is; empty: as they were given
  MatrixPattern c_;
};

}
