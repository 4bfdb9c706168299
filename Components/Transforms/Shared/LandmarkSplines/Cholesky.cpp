#include "Components/Transforms/Shared/LandmarkSplines/Cholesky.h"

#include "Core/Compute/HostDevice.h"
#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace tessera {
namespace {

constexpr std::size_t tile = 64;    // rows and columns that are computed together
constexpr std::size_t columns = 16; // right-hand sides that are solved together, or 4 if there are no more

using Four [[gnu::vector_size(32)]] = double;

TESSERA_ALWAYS_INLINE Four load(const double* from)
{
  Four value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

TESSERA_ALWAYS_INLINE void store(double* to, Four value)
{
  std::memcpy(to, &value, sizeof value);
}

/// product = a^T b for a and b with `depth` rows of `tile` numbers.
TESSERA_MULTIVERSION void multiplyTiles(const double* a, const double* b, std::size_t depth, double* product)
{
  for (std::size_t r = 0; r < tile; r += 4)
    for (std::size_t c = 0; c < tile; c += 8) {
      Four sums[4][2] = {};
      for (std::size_t m = 0; m < depth; ++m)
        for (std::size_t i = 0; i < 4; ++i)
          for (std::size_t j = 0; j < 2; ++j)
            sums[i][j] += a[m * tile + r + i] * load(b + m * tile + c + 4 * j);
      for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t j = 0; j < 2; ++j)
          store(product + (r + i) * tile + c + 4 * j, sums[i][j]);
    }
}

/// x = L^-1 x for the diagonal tile L and x with `width` rows of `tile` numbers.
TESSERA_MULTIVERSION void solveTile(const double* factor, std::size_t stride, std::size_t width, double* x)
{
  for (std::size_t j = 0; j < width; ++j) {
    for (std::size_t m = 0; m < j; ++m)
      for (std::size_t r = 0; r < tile; ++r)
        x[j * tile + r] -= factor[j * stride + m] * x[m * tile + r];
    for (std::size_t r = 0; r < tile; ++r)
      x[j * tile + r] /= factor[j * stride + j];
  }
}

bool factorTile(double* matrix, std::size_t stride, std::size_t width, double negligible)
{
  for (std::size_t j = 0; j < width; ++j) {
    double* const row = matrix + j * stride;
    for (std::size_t c = 0; c <= j; ++c) {
      double sum = row[c];
      for (std::size_t m = 0; m < c; ++m)
        sum -= row[m] * matrix[c * stride + m];
      if (c < j)
        row[c] = sum / matrix[c * stride + c];
      else if (!(sum > negligible))
        return false;
      else
        row[c] = std::sqrt(sum);
    }
  }
  return true;
}

/// x = L^-1 x for x with `count` rows of 4 * Fours numbers.
template <std::size_t Fours>
TESSERA_ALWAYS_INLINE void solveRowsOf(const double* factor, std::size_t count, double* x)
{
  for (std::size_t i = 0; i < count; ++i) {
    const double* const row = factor + i * count;
    double* const out = x + i * 4 * Fours;
    Four sums[Fours];
    for (std::size_t c = 0; c < Fours; ++c)
      sums[c] = load(out + 4 * c);
    for (std::size_t m = 0; m < i; ++m)
      for (std::size_t c = 0; c < Fours; ++c)
        sums[c] -= row[m] * load(x + (m * Fours + c) * 4);
    for (std::size_t c = 0; c < Fours; ++c)
      store(out + 4 * c, sums[c] / row[i]);
  }
}

/// x = L^-T x.
template <std::size_t Fours>
TESSERA_ALWAYS_INLINE void solveTransposedRowsOf(const double* factor, std::size_t count, double* x)
{
  for (std::size_t m = count; m-- > 0;) {
    const double* const row = factor + m * count;
    Four found[Fours];
    for (std::size_t c = 0; c < Fours; ++c) {
      found[c] = load(x + (m * Fours + c) * 4) / row[m];
      store(x + (m * Fours + c) * 4, found[c]);
    }
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t c = 0; c < Fours; ++c)
        store(x + (i * Fours + c) * 4, load(x + (i * Fours + c) * 4) - row[i] * found[c]);
  }
}

TESSERA_MULTIVERSION void solveRows(const double* factor, std::size_t count, double* x, bool bothFactors,
                                    bool isNarrow)
{
  isNarrow ? solveRowsOf<1>(factor, count, x) : solveRowsOf<4>(factor, count, x);
  if (bothFactors)
    isNarrow ? solveTransposedRowsOf<1>(factor, count, x) : solveTransposedRowsOf<4>(factor, count, x);
}

void solveInColumns(const Context& context, const std::vector<double>& factor, std::size_t count,
                    std::vector<double>& right, std::size_t rightHandSides, bool bothFactors)
{
  const bool isNarrow = rightHandSides <= 4;
  const std::size_t width = isNarrow ? 4 : columns;
  forEachRange(context, rightHandSides, columns, [&](std::size_t first, std::size_t last) {
    std::vector<double> x(count * width, 0.0);
    for (std::size_t i = 0; i < count; ++i)
      std::copy(&right[i * rightHandSides + first], &right[i * rightHandSides] + last, &x[i * width]);
    solveRows(factor.data(), count, x.data(), bothFactors, isNarrow);
    for (std::size_t i = 0; i < count; ++i)
      std::copy_n(&x[i * width], last - first, &right[i * rightHandSides + first]);
  });
}

}

bool factorCholesky(const Context& context, std::vector<double>& matrix, std::size_t count)
{
  double largest = 0;
  for (std::size_t i = 0; i < count; ++i)
    largest = std::max(largest, matrix[i * count + i]);
  const double negligible = largest * static_cast<double>(count) * std::numeric_limits<double>::epsilon();
  std::vector<double> panel; // the rows below the diagonal tile, transposed tile by tile
  for (std::size_t k = 0; k < count; k += tile) {
    const std::size_t width = std::min(tile, count - k), below = k + width;
    double* const diagonal = &matrix[k * count + k];
    if (!factorTile(diagonal, count, width, negligible))
      return false;
    const std::size_t blocks = (count - below + tile - 1) / tile;
    panel.assign(blocks * width * tile, 0.0);
    const auto rowsOf = [&](std::size_t block) { return std::min(tile, count - below - block * tile); };
    const auto panelOf = [&](std::size_t block) { return &panel[block * width * tile]; };
    forEachChunk(context, blocks, [&](std::size_t block) {
      double* const x = panelOf(block);
      for (std::size_t r = 0; r < rowsOf(block); ++r)
        for (std::size_t m = 0; m < width; ++m)
          x[m * tile + r] = matrix[(below + block * tile + r) * count + k + m];
      solveTile(diagonal, count, width, x);
      for (std::size_t r = 0; r < rowsOf(block); ++r)
        for (std::size_t m = 0; m < width; ++m)
          matrix[(below + block * tile + r) * count + k + m] = x[m * tile + r];
    });
    forEachChunk(context, blocks, [&](std::size_t chunk) {
      const std::size_t block = blocks - 1 - chunk; // long rows first
      double product[tile * tile];
      for (std::size_t other = 0; other <= block; ++other) {
        multiplyTiles(panelOf(block), panelOf(other), width, product);
        for (std::size_t r = 0; r < rowsOf(block); ++r) {
          double* const row = &matrix[(below + block * tile + r) * count + below + other * tile];
          const std::size_t end = other < block ? tile : r + 1;
          for (std::size_t c = 0; c < end; ++c)
            row[c] -= product[r * tile + c];
        }
      }
    });
  }
  return true;
}

void solveLower(const Context& context, const std::vector<double>& factor, std::size_t count,
                std::vector<double>& right, std::size_t rightHandSides)
{
  solveInColumns(context, factor, count, right, rightHandSides, false);
}

void solveCholesky(const Context& context, const std::vector<double>& factor, std::size_t count,
                   std::vector<double>& right, std::size_t rightHandSides)
{
  solveInColumns(context, factor, count, right, rightHandSides, true);
}

}
