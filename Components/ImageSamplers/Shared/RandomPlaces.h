#pragma once

#include "Core/Compute/Math/Random.h"
#include "Core/Image/ImageGeometry.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

// The place of a sample that follows from random words, and the fixed image's intensity there. The same code
// runs on the CPU and in kernels.
namespace tessera {

/// A box of continuous indices.
template <int D>
struct IndexBox {
  Vec<D> lowest{}, highest{};
};

template <int D>
TESSERA_HOST_DEVICE inline Vec<D> indexIn(const IndexBox<D>& box, const std::array<std::uint32_t, 4>& words)
{
  Vec<D> index;
  for (int d = 0; d < D; ++d)
    index[d] = box.lowest[d] + unitUniform(words[d]) * (box.highest[d] - box.lowest[d]);
  return index;
}

/// A voxel of an image: its index, and its place among the others.
template <int D>
struct PlacedVoxel {
  Vec<D> index;
  std::size_t offset;
};

/// A voxel of the box that begins at `first`.
template <int D>
TESSERA_HOST_DEVICE inline PlacedVoxel<D> voxelIn(const Size<D>& first, const Size<D>& size,
                                                  const Size<D>& imageSize,
                                                  const std::array<std::uint32_t, 4>& words)
{
  PlacedVoxel<D> placed{{}, 0};
  std::size_t stride = 1;
  for (int d = 0; d < D; ++d) {
    const std::size_t voxel =
        first[d] + static_cast<std::size_t>(unitUniform(words[d]) * static_cast<double>(size[d]));
    placed.index[d] = static_cast<double>(voxel);
    placed.offset += stride * voxel;
    stride *= imageSize[d];
  }
  return placed;
}

/// floor(u * count) for u in [0, 1) with 64 random bits.
TESSERA_HOST_DEVICE inline std::size_t choose(std::uint32_t high, std::uint32_t low, std::size_t count)
{
  const std::uint64_t bits = static_cast<std::uint64_t>(high) << 32 | low;
#ifdef __CUDA_ARCH__
  return __umul64hi(bits, count);
#else
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::size_t>((Wide(bits) * count) >> 64);
#endif
}

/// Linear interpolation in double at a continuous index in [0, size - 1].
template <int D>
class LinearLookUp {
public:
  LinearLookUp() = default;
  TESSERA_HOST_DEVICE LinearLookUp(const float* voxels, const Size<D>& size, const Vec<D>& index)
  {
    std::size_t offset = 0, stride = 1;
    for (int d = 0; d < D; ++d) {
      const double base = std::floor(index[d]);
      const std::size_t voxel = static_cast<std::size_t>(base);
      fraction_[d] = index[d] - base;
      step_[d] = voxel + 1 < size[d] ? stride : 0;
      offset += stride * voxel;
      stride *= size[d];
    }
    corner_ = voxels + offset;
  }

  /// Prefetches the memory that value() reads.
  void prefetch() const
  {
    for (int row = 0; row < rowCount; ++row)
      __builtin_prefetch(rowStart(row));
  }

  TESSERA_HOST_DEVICE float value() const
  {
    double rows[rowCount];
    for (int row = 0; row < rowCount; ++row) {
      const float* start = rowStart(row);
      rows[row] = start[0] + fraction_[0] * (static_cast<double>(start[step_[0]]) - start[0]);
    }
    for (int d = 1; d < D; ++d)
      for (int pair = 0; pair < rowCount >> d; ++pair)
        rows[pair] = rows[2 * pair] + fraction_[d] * (rows[2 * pair + 1] - rows[2 * pair]);
    return static_cast<float>(rows[0]);
  }

private:
  static constexpr int rowCount = 1 << (D - 1);

  TESSERA_HOST_DEVICE const float* rowStart(int row) const
  {
    const float* start = corner_;
    for (int d = 1; d < D; ++d)
      start += (row >> (d - 1) & 1) * step_[d];
    return start;
  }

  const float* corner_ = nullptr;
  std::array<std::size_t, D> step_{};
  Vec<D> fraction_{};
};

/// The voxel nearest to a continuous index in [0, size - 1]; halves are rounded up.
template <int D>
TESSERA_HOST_DEVICE inline float nearestVoxel(const float* voxels, const Size<D>& size, const Vec<D>& index)
{
  std::size_t offset = 0, stride = 1;
  for (int d = 0; d < D; ++d) {
    offset += stride * static_cast<std::size_t>(std::floor(index[d] + 0.5));
    stride *= size[d];
  }
  return voxels[offset];
}

}
