#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Sparse/CsrOnCuda.h"
#include "Core/Sparse/Semiring.h"

#include <cstdint>

// Entries of C = A B one by one, each as the inner product of a row of A and a column of B: the shorter of
// the two is walked, and its numbers are looked up in the other. Sums follow an order that depends on the
// patterns alone. V is float, double or int64; B must have fewer than 2^32 entries.
namespace tessera {

/// C where a mask has an entry; products elsewhere are not made. The mask views some rows of a matrix with
/// `maskEntries` entries; `entries` of them are in the view. Waits to learn the number of entries of C.
/// Throws Error(usage) if an int64 leaves the range of 64 bits.
template <class V>
TESSERA_CUDA_ONLY CsrOnCuda<V> innerProductsOnCuda(const Context&, Semiring, const CsrView<V>& a,
                                                   const CsrView<V>& b, std::uint64_t entriesOfB,
                                                   const PatternView& mask, std::uint64_t maskEntries,
                                                   std::uint64_t entries);

/// The numbers of an entry of A and one of B that are multiplied.
struct EntryPair {
  std::uint32_t ofA, ofB;
};

/// For each entry of a C whose pattern is known: the entries that are multiplied for it, in the order of k.
/// Other values are then multiplied as fast as the lists are read.
struct ProductListsOnCuda {
  /// `products`: the number of all products, below 2^32.
  TESSERA_CUDA_ONLY ProductListsOnCuda(const Context&, const PatternView& a, const PatternView& b,
                                       std::uint64_t entriesOfB, const PatternView& c,
                                       std::uint64_t entriesOfC, std::uint64_t products);

  int lanes;                   // that work on each entry of C
  Buffer<std::uint32_t> start; // entries of C + 1 elements
  Buffer<EntryPair> pairs;
};

/// Sets the values of C. Sets *overflowed to 1 if an int64 leaves the range.
template <class V>
TESSERA_CUDA_ONLY void multiplyByListsOnCuda(const Context&, Semiring, const ProductListsOnCuda&, const V* a,
                                             const V* b, V* c, std::uint32_t* overflowed);

}
