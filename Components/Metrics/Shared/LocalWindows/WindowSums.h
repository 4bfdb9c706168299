#pragma once

#include "Components/Metrics/Shared/LocalWindows/LocalWindow.h"
#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

namespace tessera {

/// Work on the rows of a lattice, cut by its size alone.
struct RowChunks {
  static constexpr std::size_t rowsOfChunk = 32, slicesOfChunk = 64;

  explicit RowChunks(const std::array<std::size_t, 3>& latticeSize)
      : size(latticeSize), across((size[1] + rowsOfChunk - 1) / rowsOfChunk)
  {
  }
  std::size_t count() const { return across * ((size[2] + slicesOfChunk - 1) / slicesOfChunk); }
  /// [first, last) rows of a slice, and slices.
  std::array<std::size_t, 2> rows(std::size_t chunk) const
  {
    const std::size_t first = chunk % across * rowsOfChunk;
    return {first, std::min(first + rowsOfChunk, size[1])};
  }
  std::array<std::size_t, 2> slices(std::size_t chunk) const
  {
    const std::size_t first = chunk / across * slicesOfChunk;
    return {first, std::min(first + slicesOfChunk, size[2])};
  }

  std::array<std::size_t, 3> size;
  std::size_t across;
};

/// sum[i] += weight * addend[i]
void addWeighted(double* sum, const double* addend, double weight, std::size_t count);
/// Window sums along the rows of three arrays, `stride` apart. A row of `in` has `radius` + 1 zeros before
/// its `count` values and `radius` behind them.
void sumAlongRows(const double* in, std::size_t stride, int radius, const std::vector<double>& weights,
                  std::size_t count, double* out);

/// Sums of quantities over the window around each position, row by row, on the context's threads. A multiple
/// of three quantities.
///
/// quantities(y, z, rows) writes those of a row into as many arrays. use(chunk, y, z, sums) gets the sums
/// around the row's positions; rows of a chunk come in their order, from one thread.
///
/// Sums of a box run along each axis (McDonnell, "Box-filtering techniques", 1981): what enters is added,
/// what leaves is subtracted, so that the work does not depend on the radius. They are in double precision
/// and begin anew in each chunk. Equal bits for any thread count.
template <int Quantities, class Write, class Use>
void forEachRowOfWindowSums(const Context& context, const std::array<std::size_t, 3>& size,
                            const LocalWindow& window, const Write& quantities, const Use& use)
{
  static_assert(Quantities % 3 == 0);
  const RowChunks chunks(size);
  std::array<std::ptrdiff_t, 3> radius;
  for (int d = 0; d < 3; ++d) // a box that reaches farther sums the same
    radius[d] = std::min<std::ptrdiff_t>(window.radius[d], static_cast<std::ptrdiff_t>(size[d]) - 1);
  const auto weightsOf = [&](int d) {
    const std::vector<double>& all = window.weights[d];
    const std::ptrdiff_t cut = window.radius[d] - radius[d];
    return all.empty() ? all : std::vector<double>(all.begin() + cut, all.end() - cut);
  };
  const std::array<std::vector<double>, 3> weights{weightsOf(0), weightsOf(1), weightsOf(2)};
  const std::size_t width = size[0] + 2 * radius[0] + 1, rowLength = Quantities * width;

  forEachChunk(context, chunks.count(), [&](std::size_t chunk) {
    const auto rows = chunks.rows(chunk), slices = chunks.slices(chunk);
    const auto clipped = [&](std::size_t position, std::ptrdiff_t offset, std::size_t end) {
      return static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(
          static_cast<std::ptrdiff_t>(position) + offset, 0, static_cast<std::ptrdiff_t>(end)));
    };
    const std::size_t firstRow = clipped(rows[0], -radius[1], size[1]),
                      lastRow = clipped(rows[1], radius[1], size[1]);
    thread_local std::vector<double> columns, added, across, sums;
    columns.assign((lastRow - firstRow) * rowLength, 0);
    added.assign(rowLength, 0);
    across.assign(rowLength, 0);
    sums.resize(Quantities * size[0]);
    const auto column = [&](std::size_t y) { return columns.data() + (y - firstRow) * rowLength; };

    /// Moves a window along an axis to `position`; add(i, weight) brings what is at i in or out of it.
    const auto slide = [&](int axis, std::size_t position, std::size_t start, const auto& clear,
                           const auto& add) {
      const std::ptrdiff_t r = radius[axis];
      const bool isBox = weights[axis].empty();
      if (isBox && position > start) {
        if (position + r < size[axis])
          add(position + r, 1.0);
        if (position > static_cast<std::size_t>(r))
          add(position - r - 1, -1.0);
        return;
      }
      clear();
      for (std::size_t i = clipped(position, -r, size[axis]); i < clipped(position, r + 1, size[axis]); ++i)
        add(i, isBox ? 1.0 : weights[axis][i + r - position]);
    };

    for (std::size_t z = slices[0]; z < slices[1]; ++z) {
      slide(
          2, z, slices[0], [&] { std::fill(columns.begin(), columns.end(), 0.0); },
          [&](std::size_t slice, double weight) {
            for (std::size_t y = firstRow; y < lastRow; ++y) {
              std::array<double*, Quantities> written;
              for (int q = 0; q < Quantities; ++q)
                written[q] = added.data() + q * width + radius[0] + 1;
              quantities(y, slice, written);
              addWeighted(column(y), added.data(), weight, rowLength);
            }
          });
      for (std::size_t y = rows[0]; y < rows[1]; ++y) {
        slide(
            1, y, rows[0], [&] { std::fill(across.begin(), across.end(), 0.0); },
            [&](std::size_t row, double weight) {
              addWeighted(across.data(), column(row), weight, rowLength);
            });
        std::array<const double*, Quantities> found;
        for (int q = 0; q < Quantities; ++q)
          found[q] = sums.data() + q * size[0];
        for (int q = 0; q < Quantities; q += 3)
          sumAlongRows(across.data() + q * width, width, static_cast<int>(radius[0]), weights[0], size[0],
                       sums.data() + q * size[0]);
        use(chunk, y, z, found);
      }
    }
  });
}

}
