#include "Core/Sparse/Analysis/ProductWork.h"

#include "Core/Compute/Threads/Parallel.h"
#include "Core/Sparse/Analysis/ProductAnalysis.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace tessera {
namespace {

constexpr std::size_t rowsAChunk = 4096;
constexpr double fewestSamples = 16;

/// Numbers below a limit, each of which counts once until the set is cleared. Beyond a million numbers a few
/// share a place, which matters little to an estimate.
class SeenNumbers {
public:
  explicit SeenNumbers(std::size_t limit) : stamp_(std::clamp(limit, std::size_t{1}, maxPlaces), 0) {}
  void clear() { ++now_; }
  bool add(std::size_t number) { return std::exchange(stamp_[number % stamp_.size()], now_) != now_; }

private:
  static constexpr std::size_t maxPlaces = 1 << 20;
  std::vector<std::uint32_t> stamp_;
  std::uint32_t now_ = 1;
};

/// Samples rows of a product, and sums over them.
class Samples {
public:
  Samples(const MatrixPattern& a, const MatrixPattern& b)
      : a_(a), b_(b), entries_(b.columns), tiles_(std::max(a.columns, b.columns) / tileSide + 1)
  {
  }

  void add(std::size_t group)
  {
    const std::size_t first = group * tileSide, last = std::min(first + tileSide, a_.rows);
    double products = 0, entries = 0, pairs = 0;
    for (std::size_t row = first; row < last; ++row) {
      entries_.clear();
      for (std::uint64_t i = a_.rowStart[row]; i < a_.rowStart[row + 1]; ++i) {
        const std::uint32_t k = a_.column[i];
        products += static_cast<double>(b_.rowEntries(k));
        for (std::uint64_t j = b_.rowStart[k]; j < b_.rowStart[k + 1]; ++j)
          entries += entries_.add(b_.column[j]);
      }
    }
    std::vector<std::uint32_t> tilesOfA;
    tiles_.clear();
    for (std::uint64_t i = a_.rowStart[first]; i < a_.rowStart[last]; ++i)
      if (const std::uint32_t tile = a_.column[i] / tileSide; tiles_.add(tile))
        tilesOfA.push_back(tile);
    for (const std::uint32_t tile : tilesOfA)
      pairs += tilesOfB(tile);
    sums_.products += products;
    sums_.entries += entries;
    if (products >= productsPerTilePair * pairs && products > 0)
      sums_.tilePairs += pairs;
    else
      sums_.rowProducts += products;
  }
  const ProductWork& sums() const { return sums_; }

private:
  /// The number of tiles in 8 rows of B.
  double tilesOfB(std::size_t group)
  {
    tiles_.clear();
    double count = 0;
    const std::size_t first = std::min(group * tileSide, b_.rows), last = std::min(first + tileSide, b_.rows);
    for (std::uint64_t i = b_.rowStart[first]; i < b_.rowStart[last]; ++i)
      count += tiles_.add(b_.column[i] / tileSide);
    return count;
  }

  const MatrixPattern &a_, &b_;
  SeenNumbers entries_, tiles_;
  ProductWork sums_;
};

double bytesOf(std::size_t rows, double entries, std::size_t valueBytes)
{
  return static_cast<double>((rows + 1) * sizeof(std::uint64_t))
         + entries * static_cast<double>(sizeof(std::uint32_t) + valueBytes);
}

}

double productCount(const Context& context, const MatrixPattern& a, const MatrixPattern& b)
{
  checkFactors(a.rows, a.columns, b.rows, b.columns);
  std::vector<double> sumsOfChunks((a.rows + rowsAChunk - 1) / rowsAChunk);
  forEachRange(context, a.rows, rowsAChunk, [&](std::size_t first, std::size_t last) {
    double& sum = sumsOfChunks[first / rowsAChunk];
    for (std::uint64_t i = a.rowStart[first]; i < a.rowStart[last]; ++i)
      sum += static_cast<double>(b.rowEntries(a.column[i]));
  });
  return std::accumulate(sumsOfChunks.begin(), sumsOfChunks.end(), 0.0);
}

ProductWork productWork(const Context& context, const MatrixPattern& a, const MatrixPattern& b,
                        std::size_t valueBytes, double sampledProducts)
{
  ProductWork work{.rows = static_cast<double>(a.rows), .products = productCount(context, a, b)};
  if (work.products > 0) {
    const auto groups = static_cast<double>((a.rows + tileSide - 1) / tileSide);
    const double count =
        std::min(groups, std::max(fewestSamples, std::ceil(sampledProducts * groups / work.products)));
    Samples samples(a, b);
    for (double sample = 0; sample < count; ++sample)
      samples.add(static_cast<std::size_t>(sample * groups / count));
    const ProductWork& sums = samples.sums();
    const double scale = sums.products > 0 ? work.products / sums.products : 0;
    work.rowProducts = sums.rowProducts * scale;
    work.tilePairs = sums.tilePairs * scale;
    work.entries = sums.entries * scale;
  }
  const auto entriesOfB = static_cast<double>(b.entries());
  work.factorBytes = bytesOf(a.rows, static_cast<double>(a.entries()), valueBytes)
                     + (a.isSame(b) ? 0 : bytesOf(b.rows, entriesOfB, valueBytes));
  work.productBytes = bytesOf(a.rows, work.entries, valueBytes);
  return work;
}

}
