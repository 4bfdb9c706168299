#include "Core/Sparse/Tiles/TileVectors.h"

#include "Core/Compute/HostDevice.h"
#include "Core/Sparse/Analysis/ProductAnalysis.h"
#include "Core/Sparse/Tiles/TilePattern.h"

#include <bit>
#include <cstring>

#if defined(TESSERA_VERSIONS)
#include <immintrin.h>
#endif

namespace tessera {
namespace {

template <class Bits>
TESSERA_ALWAYS_INLINE std::size_t
packWithoutVectors(unsigned r, std::size_t count, const std::uint32_t* tileColumn,
                   const std::uint64_t* bitmap, const Bits* numbers, std::uint32_t* column, Bits* value)
{
  std::size_t at = 0;
  for (std::size_t tile = 0; tile < count; ++tile) {
    unsigned bits = bitmap[tile] >> (8 * r) & 0xff;
    const std::uint32_t first = tileColumn[tile] * tileSide;
    const Bits* const row = numbers + tile * numbersPerTile + r * tileSide;
    if (bits == 0xff) {
      for (unsigned c = 0; c < tileSide; ++c)
        column[at + c] = first + c;
      std::memcpy(value + at, row, tileSide * sizeof(Bits));
      at += tileSide;
      continue;
    }
    for (; bits != 0; bits &= bits - 1) {
      const auto c = static_cast<unsigned>(std::countr_zero(bits));
      column[at] = first + c;
      value[at++] = row[c];
    }
  }
  return at;
}

TESSERA_VERSION_DEFAULT void multiplyAll(std::uint64_t a, const std::uint64_t* b, std::size_t count,
                                         std::uint64_t* products)
{
  for (std::size_t i = 0; i < count; ++i)
    products[i] = multiplyPatterns(a, b[i]);
}

TESSERA_VERSION_DEFAULT std::size_t pack(unsigned r, std::size_t count, const std::uint32_t* tileColumn,
                                         const std::uint64_t* bitmap, const std::uint32_t* numbers,
                                         std::uint32_t* column, std::uint32_t* value)
{
  return packWithoutVectors(r, count, tileColumn, bitmap, numbers, column, value);
}

TESSERA_VERSION_DEFAULT std::size_t pack(unsigned r, std::size_t count, const std::uint32_t* tileColumn,
                                         const std::uint64_t* bitmap, const std::uint64_t* numbers,
                                         std::uint32_t* column, std::uint64_t* value)
{
  return packWithoutVectors(r, count, tileColumn, bitmap, numbers, column, value);
}

#if defined(TESSERA_VERSIONS)
/// Copies byte k of each eight bytes to all eight.
__attribute__((target("avx2"))) TESSERA_ALWAYS_INLINE __m256i spreadByte(__m256i bytes, unsigned k)
{
  const __m256i first = _mm256_setr_epi64x(0, 0x0808080808080808, 0, 0x0808080808080808);
  return _mm256_shuffle_epi8(bytes, _mm256_add_epi8(first, _mm256_set1_epi8(static_cast<char>(k))));
}

/// Byte r of the result is 0xff if the tile has an entry in row r and column k, otherwise 0.
TESSERA_ALWAYS_INLINE long long rowsWithColumn(std::uint64_t a, unsigned k)
{
  return static_cast<long long>((a >> k & 0x0101010101010101) * 0xff);
}

__attribute__((target("arch=x86-64-v3"))) void multiplyAll(std::uint64_t a, const std::uint64_t* b,
                                                           std::size_t count, std::uint64_t* products)
{
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const __m256i fourOfB = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + i));
    __m256i product = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (unsigned k = 0; k < tileSide; ++k)
      product = _mm256_or_si256(
          product, _mm256_and_si256(_mm256_set1_epi64x(rowsWithColumn(a, k)), spreadByte(fourOfB, k)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(products + i), product);
  }
  for (; i < count; ++i)
    products[i] = multiplyPatterns(a, b[i]);
}

__attribute__((target("arch=x86-64-v4"))) void multiplyAll(std::uint64_t a, const std::uint64_t* b,
                                                           std::size_t count, std::uint64_t* products)
{
  const __m512i first = _mm512_set4_epi64(0x0808080808080808, 0, 0x0808080808080808, 0);
  for (std::size_t i = 0; i < count; i += 8) {
    const auto there = static_cast<__mmask8>(0xff >> (count - i < 8 ? 8 - (count - i) : 0));
    const __m512i eightOfB = _mm512_maskz_loadu_epi64(there, b + i);
    __m512i product = _mm512_setzero_si512();
#pragma GCC unroll 8
    for (unsigned k = 0; k < tileSide; ++k) {
      const __m512i spread =
          _mm512_shuffle_epi8(eightOfB, _mm512_add_epi8(first, _mm512_set1_epi8(static_cast<char>(k))));
      product = _mm512_or_si512(product, _mm512_and_si512(_mm512_set1_epi64(rowsWithColumn(a, k)), spread));
    }
    _mm512_mask_storeu_epi64(products + i, there, product);
  }
}

/// Writes the elements of a row whose bits are set, without gaps. Overwrites 8 elements.
__attribute__((target("arch=x86-64-v4"))) TESSERA_ALWAYS_INLINE void
packRow(__mmask8 bits, const std::uint32_t* row, std::uint32_t* value)
{
  const __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(value), _mm256_maskz_compress_epi32(bits, all));
}

__attribute__((target("arch=x86-64-v4"))) TESSERA_ALWAYS_INLINE void
packRow(__mmask8 bits, const std::uint64_t* row, std::uint64_t* value)
{
  _mm512_storeu_si512(value, _mm512_maskz_compress_epi64(bits, _mm512_loadu_si512(row)));
}

template <class Bits>
__attribute__((target("arch=x86-64-v4"))) TESSERA_ALWAYS_INLINE std::size_t
packWithVectors(unsigned r, std::size_t count, const std::uint32_t* tileColumn, const std::uint64_t* bitmap,
                const Bits* numbers, std::uint32_t* column, Bits* value)
{
  const __m256i places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  std::size_t at = 0;
  for (std::size_t tile = 0; tile < count; ++tile) {
    const auto bits = static_cast<__mmask8>(bitmap[tile] >> (8 * r));
    const __m256i columns =
        _mm256_add_epi32(places, _mm256_set1_epi32(static_cast<int>(tileColumn[tile] * tileSide)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(column + at), _mm256_maskz_compress_epi32(bits, columns));
    packRow(bits, numbers + tile * numbersPerTile + r * tileSide, value + at);
    at += static_cast<std::size_t>(std::popcount(static_cast<unsigned>(bits)));
  }
  return at;
}

__attribute__((target("arch=x86-64-v4"))) std::size_t
pack(unsigned r, std::size_t count, const std::uint32_t* tileColumn, const std::uint64_t* bitmap,
     const std::uint32_t* numbers, std::uint32_t* column, std::uint32_t* value)
{
  return packWithVectors(r, count, tileColumn, bitmap, numbers, column, value);
}

__attribute__((target("arch=x86-64-v4"))) std::size_t
pack(unsigned r, std::size_t count, const std::uint32_t* tileColumn, const std::uint64_t* bitmap,
     const std::uint64_t* numbers, std::uint32_t* column, std::uint64_t* value)
{
  return packWithVectors(r, count, tileColumn, bitmap, numbers, column, value);
}
#endif

}

void multiplyPatterns(std::uint64_t a, const std::uint64_t* b, std::size_t count, std::uint64_t* products)
{
  multiplyAll(a, b, count, products);
}

std::size_t packTileRow(unsigned r, std::size_t count, const std::uint32_t* tileColumn,
                        const std::uint64_t* bitmap, const std::uint32_t* numbers, std::uint32_t* column,
                        std::uint32_t* value)
{
  return pack(r, count, tileColumn, bitmap, numbers, column, value);
}

std::size_t packTileRow(unsigned r, std::size_t count, const std::uint32_t* tileColumn,
                        const std::uint64_t* bitmap, const std::uint64_t* numbers, std::uint32_t* column,
                        std::uint64_t* value)
{
  return pack(r, count, tileColumn, bitmap, numbers, column, value);
}

}
