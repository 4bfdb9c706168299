#include "Tools/SpGEMM/PlainProduct.h"

#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <type_traits>
#include <vector>

namespace tessera {
namespace {

constexpr std::size_t rowsPerChunk = 64;

template <class W>
struct Sum {
  W value;
  double magnitudes = 0; // sum of the magnitudes of the products and of D
};

template <class V, class W>
class PlainRows {
public:
  PlainRows(const CsrMatrix<V>& a, const CsrMatrix<V>& b, const SpGemmOptions<V>& options)
      : a_(a), b_(b), options_(options)
  {
  }

  template <class Ring>
  PlainComparison compareRow(std::size_t row, const CsrMatrix<V>& c) const
  {
    std::map<std::uint32_t, Sum<W>> sums;
    Ring ring;
    for (std::uint64_t i = a_.rowStart[row]; i < a_.rowStart[row + 1]; ++i)
      for (std::uint64_t j = b_.rowStart[a_.column[i]]; j < b_.rowStart[a_.column[i] + 1]; ++j) {
        Sum<W>& sum = sums.try_emplace(b_.column[j], Sum<W>{Ring::zero}).first->second;
        const W product = ring.multiply(a_.value[i], b_.value[j]);
        sum.value = ring.add(sum.value, product);
        sum.magnitudes += std::fabs(static_cast<double>(product));
      }
    finish(ring, row, sums);
    return compared(row, sums, c);
  }

private:
  template <class Ring>
  void finish(Ring& ring, std::size_t row, std::map<std::uint32_t, Sum<W>>& sums) const
  {
    if (options_.mask) {
      const auto first = options_.mask->column.begin() + options_.mask->rowStart[row];
      const auto last = options_.mask->column.begin() + options_.mask->rowStart[row + 1];
      std::erase_if(sums, [&](const auto& entry) {
        return std::binary_search(first, last, entry.first) == options_.complementMask;
      });
    }
    if (options_.scale)
      for (auto& [column, sum] : sums) {
        sum.value = ring.product(*options_.scale, sum.value);
        sum.magnitudes *= std::fabs(static_cast<double>(*options_.scale));
      }
    if (!options_.accumulate)
      return;
    const CsrMatrix<V>& d = *options_.accumulate;
    for (std::uint64_t i = d.rowStart[row]; i < d.rowStart[row + 1]; ++i) {
      const W value = d.value[i];
      const auto [at, isNew] = sums.try_emplace(d.column[i], Sum<W>{value});
      if (!isNew)
        at->second.value = ring.add(at->second.value, value);
      at->second.magnitudes += std::fabs(static_cast<double>(value));
    }
  }

  PlainComparison compared(std::size_t row, const std::map<std::uint32_t, Sum<W>>& sums,
                           const CsrMatrix<V>& c) const
  {
    PlainComparison result;
    std::uint64_t common = 0;
    for (std::uint64_t i = c.rowStart[row]; i < c.rowStart[row + 1]; ++i) {
      const auto found = sums.find(c.column[i]);
      if (found == sums.end())
        continue;
      ++common;
      const W expected = found->second.value, got = c.value[i];
      if (expected == got || (expected != expected && got != got))
        continue;
      const double difference = std::fabs(static_cast<double>(got) - static_cast<double>(expected));
      result.largestError = std::max(result.largestError, difference / found->second.magnitudes);
    }
    result.misplaced = c.rowEntries(row) + sums.size() - 2 * common;
    return result;
  }

  const CsrMatrix<V>&a_, &b_;
  const SpGemmOptions<V>& options_;
};

}

template <class V>
PlainComparison compareWithPlain(const Context& context, const CsrMatrix<V>& a, const CsrMatrix<V>& b,
                                 const SpGemmOptions<V>& options, const CsrMatrix<V>& c)
{
  using W = std::conditional_t<std::is_integral_v<V>, V, double>;
  const CsrMatrix<V> left = options.transposeA ? transposed(context, a) : a,
                     right = options.transposeB ? transposed(context, b) : b;
  const PlainRows<V, W> rows(left, right, options);
  std::vector<PlainComparison> partial((c.rows + rowsPerChunk - 1) / rowsPerChunk);
  withSemiring<W>(options.semiring, [&]<class Ring>(Ring) {
    forEachRange(context, c.rows, rowsPerChunk, [&](std::size_t first, std::size_t last) {
      PlainComparison& sum = partial[first / rowsPerChunk];
      for (std::size_t row = first; row < last; ++row) {
        const PlainComparison one = rows.template compareRow<Ring>(row, c);
        sum.misplaced += one.misplaced;
        sum.largestError = std::max(sum.largestError, one.largestError);
      }
    });
  });
  PlainComparison result;
  for (const PlainComparison& one : partial) {
    result.misplaced += one.misplaced;
    result.largestError = std::max(result.largestError, one.largestError);
  }
  return result;
}

TESSERA_INSTANTIATE_FOR_NUMBERS(compareWithPlain<V>);

}
