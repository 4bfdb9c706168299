#pragma once

#include "Core/Sparse/SpGemmOptions.h"
#include "Testing/Support/Scenes/SparseCases.h"

namespace tessera::testing {

constexpr SpGemmAlgorithm everyAlgorithm[] = {SpGemmAlgorithm::rows, SpGemmAlgorithm::tiles,
                                              SpGemmAlgorithm::automatic};

/// The plainest product: over a map, products in the order of k, each sum from the semiring's zero on.
template <class V>
CsrMatrix<V> plainProduct(const CsrMatrix<V>& a, const CsrMatrix<V>& b,
                          Semiring semiring = Semiring::plusTimes)
{
  EntryMap<V> c;
  withSemiring<V>(semiring, [&]<class Ring>(Ring ring) {
    for (const auto& [placeA, va] : entriesOf(a))
      for (std::uint64_t j = b.rowStart[placeA.second]; j < b.rowStart[placeA.second + 1]; ++j) {
        V& sum = c.try_emplace({placeA.first, b.column[j]}, Ring::zero).first->second;
        sum = ring.add(sum, ring.multiply(va, b.value[j]));
      }
  });
  return matrixOf(a.rows, b.columns, c);
}

}
