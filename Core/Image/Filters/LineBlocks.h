#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/HostDevice.h"
#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace tessera {

// Recursive filters run along lines. Neighbouring lines are filtered side by side in the lanes of vectors.
constexpr std::size_t lineLanes = 16;

using Float4 = float __attribute__((vector_size(16)));
using Double4 = double __attribute__((vector_size(32)));

/// Up to `lineLanes` lines of the same length. Voxel (position, lane) has the index first + position *
/// positionStride + lane * laneStride.
struct LineBlock {
  std::size_t first = 0, lanes = 0, length = 0, positionStride = 0, laneStride = 0;
};

/// Cuts an array (x fastest) into blocks of lines along one axis.
class LinePlan {
public:
  LinePlan(std::span<const std::size_t> size, std::size_t axis) : length_(size[axis])
  {
    std::size_t total = 1;
    for (std::size_t d = 0; d < size.size(); ++d) {
      stride_ *= d < axis ? size[d] : 1;
      total *= size[d];
    }
    alongRows_ = stride_ == 1;
    linesPerSlab_ = alongRows_ ? total / length_ : stride_;
    blocksPerSlab_ = (linesPerSlab_ + lineLanes - 1) / lineLanes;
    blockCount_ = blocksPerSlab_ * (alongRows_ ? 1 : total / (length_ * stride_));
  }

  std::size_t length() const { return length_; }
  std::size_t blockCount() const { return blockCount_; }

  LineBlock block(std::size_t index) const
  {
    const std::size_t slab = index / blocksPerSlab_, line = index % blocksPerSlab_ * lineLanes;
    LineBlock block;
    block.lanes = std::min(lineLanes, linesPerSlab_ - line);
    block.length = length_;
    block.positionStride = stride_;
    block.laneStride = alongRows_ ? length_ : 1;
    block.first = slab * stride_ * length_ + line * block.laneStride;
    return block;
  }

private:
  std::size_t length_, stride_ = 1, linesPerSlab_ = 0, blocksPerSlab_ = 0, blockCount_ = 0;
  bool alongRows_ = false;
};

/// Transposes a tile of 4 x 4 values.
template <class Vector>
TESSERA_ALWAYS_INLINE void transposeTile(Vector* rows)
{
  const Vector a = __builtin_shufflevector(rows[0], rows[1], 0, 4, 1, 5),
               b = __builtin_shufflevector(rows[0], rows[1], 2, 6, 3, 7);
  const Vector c = __builtin_shufflevector(rows[2], rows[3], 0, 4, 1, 5),
               d = __builtin_shufflevector(rows[2], rows[3], 2, 6, 3, 7);
  rows[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
  rows[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
  rows[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
  rows[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}

template <class Vector, class T>
TESSERA_ALWAYS_INLINE Vector loadVector(const T* from)
{
  Vector v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}

template <class Vector, class T>
TESSERA_ALWAYS_INLINE void storeVector(T* to, const Vector& v)
{
  __builtin_memcpy(to, &v, sizeof v);
}

/// Copies the lines of a block to lanes[position * lineLanes + lane]. Missing lines repeat the last one.
template <class T>
TESSERA_ALWAYS_INLINE void gatherLines(const T* volume, const LineBlock& block, T* lanes)
{
  typedef T Vector __attribute__((vector_size(4 * sizeof(T))));
  const T* from = volume + block.first;
  std::size_t done = 0;
  if (block.lanes == lineLanes && block.laneStride == 1) {
    for (; done < block.length; ++done)
      __builtin_memcpy(lanes + done * lineLanes, from + done * block.positionStride, lineLanes * sizeof(T));
  } else if (block.lanes == lineLanes) {
    for (; done + 4 <= block.length; done += 4)
      for (std::size_t lane = 0; lane < lineLanes; lane += 4) {
        Vector tile[4];
        for (std::size_t i = 0; i < 4; ++i)
          tile[i] = loadVector<Vector>(from + (lane + i) * block.laneStride + done);
        transposeTile(tile);
        for (std::size_t i = 0; i < 4; ++i)
          storeVector(lanes + (done + i) * lineLanes + lane, tile[i]);
      }
  }
  for (; done < block.length; ++done)
    for (std::size_t lane = 0; lane < lineLanes; ++lane)
      lanes[done * lineLanes + lane] =
          from[done * block.positionStride + std::min(lane, block.lanes - 1) * block.laneStride];
}

/// Copies the lanes back to the lines of a block.
template <class T>
TESSERA_ALWAYS_INLINE void scatterLines(const T* lanes, const LineBlock& block, T* volume)
{
  typedef T Vector __attribute__((vector_size(4 * sizeof(T))));
  T* to = volume + block.first;
  std::size_t done = 0;
  if (block.lanes == lineLanes && block.laneStride == 1) {
    for (; done < block.length; ++done)
      __builtin_memcpy(to + done * block.positionStride, lanes + done * lineLanes, lineLanes * sizeof(T));
  } else if (block.lanes == lineLanes) {
    for (; done + 4 <= block.length; done += 4)
      for (std::size_t lane = 0; lane < lineLanes; lane += 4) {
        Vector tile[4];
        for (std::size_t i = 0; i < 4; ++i)
          tile[i] = loadVector<Vector>(lanes + (done + i) * lineLanes + lane);
        transposeTile(tile);
        for (std::size_t i = 0; i < 4; ++i)
          storeVector(to + (lane + i) * block.laneStride + done, tile[i]);
      }
  }
  for (; done < block.length; ++done)
    for (std::size_t lane = 0; lane < block.lanes; ++lane)
      to[done * block.positionStride + lane * block.laneStride] = lanes[done * lineLanes + lane];
}

/// Calls body(plan, firstBlock, lastBlock) for ranges of all blocks of an axis, on the context's threads.
template <class Body>
void forEachLineBlock(const Context& context, std::span<const std::size_t> size, std::size_t axis,
                      Body&& body)
{
  const LinePlan plan(size, axis);
  constexpr std::size_t blocksPerChunk = 16;
  forEachRange(context, plan.blockCount(), blocksPerChunk,
               [&](std::size_t first, std::size_t last) { body(plan, first, last); });
}

}
