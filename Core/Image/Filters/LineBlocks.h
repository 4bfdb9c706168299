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
    LineBlock block{.lanes = std::min(lineLanes, linesPerSlab_ - line),
                    .length = length_,
                    .positionStride = stride_,
                    .laneStride = alongRows_ ? length_ : 1};
    block.first = slab * stride_ * length_ + line * block.laneStride;
    return block;
  }

private:
  std::size_t length_, stride_ = 1, linesPerSlab_ = 0, blocksPerSlab_ = 0, blockCount_ = 0;
  bool alongRows_ = false;
};

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
  const T* const from = volume + block.first;
  if (block.lanes == lineLanes && block.laneStride == 1) {
    for (std::size_t i = 0; i < block.length; ++i)
      __builtin_memcpy(lanes + i * lineLanes, from + i * block.positionStride, lineLanes * sizeof(T));
    return;
  }
  for (std::size_t lane = 0; lane < lineLanes; ++lane) {
    const T* const line = from + std::min(lane, block.lanes - 1) * block.laneStride;
    for (std::size_t i = 0; i < block.length; ++i)
      lanes[i * lineLanes + lane] = line[i * block.positionStride];
  }
}

/// Copies the lanes back to the lines of a block.
template <class T>
TESSERA_ALWAYS_INLINE void scatterLines(const T* lanes, const LineBlock& block, T* volume)
{
  T* const to = volume + block.first;
  if (block.lanes == lineLanes && block.laneStride == 1) {
    for (std::size_t i = 0; i < block.length; ++i)
      __builtin_memcpy(to + i * block.positionStride, lanes + i * lineLanes, lineLanes * sizeof(T));
    return;
  }
  for (std::size_t lane = 0; lane < block.lanes; ++lane) {
    T* const line = to + lane * block.laneStride;
    for (std::size_t i = 0; i < block.length; ++i)
      line[i * block.positionStride] = lanes[i * lineLanes + lane];
  }
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
