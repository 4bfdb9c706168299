#pragma once

#include "Core/Compute/Threads/Parallel.h"
#include "Core/Registration/Samples/Samples.h"

#include <algorithm>

namespace tessera {

/// Sets counts[i] to 0 for points outside of the mask. A count that is 0 already stays so.
template <int D>
void keepInMask(const Mask<D>& mask, const ListSamples<D>& points, std::uint8_t* counts)
{
  for (std::size_t i = 0; i < points.count; ++i)
    counts[i] = counts[i] && mask.contains(points.point(i));
}

/// Calls body(first, last) for ranges of voxels or rows of an image. OpenMP carries a loop over a whole
/// volume. A loop of fewer ranges is short, and OpenMP's threads, which stay awake for some milliseconds
/// after a loop, would slow down the loops that follow by more than 3 %.
template <class Body>
void forEachRangeOfImage(const Context& context, std::size_t count, std::size_t rangeSize, Body&& body)
{
  constexpr std::size_t fewestRangesForOpenMP = 1024;
  if (count / rangeSize < fewestRangesForOpenMP)
    forEachRange(context, count, rangeSize, body);
  else
    forEachRangeByOpenMP(context, count, rangeSize, body);
}

/// Calls body(first, points) for every batch of consecutive voxels [begin, end) of a lattice, on the
/// context's threads. Each batch has its own `points`, which the body may overwrite. Which voxels share a
/// batch depends on begin and end alone.
template <int D, class Body>
void forEachVoxelBatch(const Context& context, const ImageGeometry<D>& lattice, std::size_t begin,
                       std::size_t end, Body&& body)
{
  constexpr std::size_t batchesPerChunk = 16;
  const AffineMap<D> pointFromIndex = lattice.pointFromIndex();
  forEachRangeOfImage(
      context, end - begin, batchesPerChunk * batchCapacity, [&](std::size_t first, std::size_t last) {
        PointBatch<D> points;
        for (std::size_t batch = begin + first; batch < begin + last; batch += batchCapacity) {
          fillVoxelPoints<D>(lattice.size, pointFromIndex, batch,
                             std::min(batchCapacity, begin + last - batch), points);
          body(batch, points);
        }
      });
}

template <int D, class Body>
void forEachVoxelBatch(const Context& context, const ImageGeometry<D>& lattice, Body&& body)
{
  forEachVoxelBatch<D>(context, lattice, 0, lattice.voxelCount(), body);
}

/// Consecutive voxels of one row of a lattice. `first` counts voxels x fastest.
template <int D>
struct RowPiece {
  std::size_t first = 0, count = 0;
  Vec<D> firstVoxel{}; // index of the piece's first voxel
};

/// Calls body(piece, points) for pieces of at most batchCapacity voxels that together cover the rows that
/// [begin, end) touches, on the context's threads. The body may overwrite `points`. The pieces of a row are
/// the same whatever begin and end are.
template <int D, class Body>
void forEachRowPiece(const Context& context, const ImageGeometry<D>& lattice, std::size_t begin,
                     std::size_t end, Body&& body)
{
  constexpr std::size_t chunkVoxels = 16 * batchCapacity;
  const std::size_t width = lattice.size[0];
  if (begin >= end)
    return;
  const std::size_t rowsOfChunk = (chunkVoxels + width - 1) / width;
  forEachRangeOfImage(
      context, (end - begin) / width, rowsOfChunk, [&](std::size_t firstRow, std::size_t lastRow) {
        PointBatch<D> points;
        for (std::size_t row = begin / width + firstRow; row < begin / width + lastRow; ++row) {
          RowPiece<D> piece;
          piece.firstVoxel = indexOfVoxel<D>(lattice.size, row * width);
          for (std::size_t x = 0; x < width; x += batchCapacity) {
            piece.first = row * width + x;
            piece.count = std::min(batchCapacity, width - x);
            piece.firstVoxel[0] = static_cast<double>(x);
            body(piece, points);
          }
        }
      });
}

}
