#pragma once

#include "Components/Resamplers/ResamplingKernels.h"
#include "Core/Registration/InterpolatorOnCuda.cuh"
#include "Core/Registration/TransformOnCuda.cuh"

// What the kernels share: from an index of the moving image to a value.
namespace tessera::resampling {

/// A voxel of the output lattice.
template <int D>
struct Voxel {
  int index[D];
};

template <int D>
__device__ Vec<D> pointOf(const LatticeToResample<D>& r, const Voxel<D>& voxel)
{
  Vec<D> pointMm;
#pragma unroll
  for (int axis = 0; axis < D; ++axis) { // added up as on the CPU
    double sum = r.pointFromIndex.offset[axis];
#pragma unroll
    for (int d = 0; d < D; ++d)
      sum += r.pointFromIndex.matrix[axis][d] * voxel.index[d];
    pointMm[axis] = sum;
  }
  return pointMm;
}

/// By the CPU's expressions.
template <int D, int Order>
__device__ float valueByPoint(const LatticeToResample<D>& r, const Voxel<D>& voxel)
{
  const Vec<D> mappedMm = mapChain<D>(r.chain, pointOf(r, voxel)), index = r.image.pointToIndex(mappedMm);
  float value = r.outside, unused[D];
  if (isInside<D>(r.image, index) && r.valid.contains(mappedMm))
    valueAtIndex<D, Order>(r.image, index, false, value, unused);
  return value;
}

template <int D, int Order>
__device__ __noinline__ float valueOfUnsure(const LatticeToResample<D>& r, Voxel<D> voxel)
{
  return valueByPoint<D, Order>(r, voxel);
}

/// `count` knots from the cell's first: their weights.
template <int Order>
__device__ __forceinline__ void knotWeights(float t, float (&weights)[Order + 1])
{
  constexpr WeightPolynomials<Order, float> polynomials;
#pragma unroll
  for (int k = 0; k <= Order; ++k) {
    weights[k] = polynomials.value[Order][k];
#pragma unroll
    for (int j = Order - 1; j >= 0; --j)
      weights[k] = fmaf(weights[k], t, polynomials.value[j][k]);
  }
}

__device__ __forceinline__ float between(float a, float b, float t)
{
  return fmaf(t, b - a, a);
}

/// Of a cell whose knots all lie in the image. 4 B * (Order + 1)^D loaded.
template <int D, int Order>
__device__ __forceinline__ float valueInside(const InterpolatorOnCuda<D>& image, const SplineCell<D>& cell)
{
  const float* const corner = rowOf<D>(image, cell.first[1], D == 3 ? cell.first[D - 1] : 0) + cell.first[0];
  const long long row = image.size[0], plane = D == 3 ? row * image.size[1] : 0;
  if constexpr (Order == 0) {
    return __ldg(corner);
  } else if constexpr (Order == 1) {
    float rows[1 << (D - 1)];
#pragma unroll
    for (int r = 0; r < 1 << (D - 1); ++r) {
      const float* const start = corner + (r & 1) * row + (r >> 1) * plane;
      rows[r] = between(__ldg(start), __ldg(start + 1), cell.fraction[0]);
    }
    const float front = between(rows[0], rows[1], cell.fraction[1]);
    if constexpr (D == 2)
      return front;
    else
      return between(front, between(rows[2], rows[3], cell.fraction[1]), cell.fraction[2]);
  } else {
    float x[Order + 1], y[Order + 1], z[Order + 1];
    knotWeights<Order>(cell.fraction[0], x);
    knotWeights<Order>(cell.fraction[1], y);
    knotWeights<Order>(cell.fraction[D - 1], z);
    float sum = 0;
#pragma unroll
    for (int k = 0; k <= (D == 3 ? Order : 0); ++k) {
      float ofPlane = 0;
#pragma unroll
      for (int j = 0; j <= Order; ++j) {
        const float* const start = corner + j * row + k * plane;
        float ofRow = 0;
#pragma unroll
        for (int i = 0; i <= Order; ++i)
          ofRow = fmaf(x[i], __ldg(start + i), ofRow);
        ofPlane = fmaf(y[j], ofRow, ofPlane);
      }
      sum = D == 3 ? fmaf(z[k], ofPlane, sum) : ofPlane;
    }
    return sum;
  }
}

/// Of any cell; a call, so that it takes no registers from the rest.
template <int D, int Order>
__device__ __noinline__ float valueAtBorder(const LatticeToResample<D>& r, Voxel<D> voxel, SplineCell<D> cell)
{
  constexpr bool even = Order % 2 == 0; // the cell of an even order begins half a voxel before its middle knot
  bool inside = true, outside = false, nearestIsSure = true;
  std::size_t nearest = 0;
  cell.interior = true;
#pragma unroll
  for (int d = D - 1; d >= 0; --d) {
    const int last = r.image.size[d] - 1, middle = cell.first[d] + Order / 2;
    const float fraction = cell.fraction[d];
    const float fromLow = static_cast<float>(middle) + fraction + (even ? 0.0f : 0.5f);
    const float fromHigh = static_cast<float>(last - middle) - fraction + (even ? 1.0f : 0.5f);
    inside = inside && fminf(fromLow, fromHigh) > r.margin;
    outside = outside || fminf(fromLow, fromHigh) < -r.margin;
    nearestIsSure = nearestIsSure && fabsf(even ? fminf(fraction, 1 - fraction) : fraction - 0.5f) > r.margin;
    nearest = nearest * r.image.size[d] + (middle + (!even && fraction >= 0.5f ? 1 : 0));
    cell.interior = cell.interior && cell.first[d] >= 0 && cell.first[d] + Order <= last;
  }
  if (outside)
    return r.outside;
  const bool needsNearest = Order == 0 || r.valid.voxels != nullptr;
  if (!inside || (needsNearest && !nearestIsSure) || (r.valid.voxels != nullptr && !r.validHasImagesGrid))
    return valueOfUnsure<D, Order>(r, voxel);
  if (r.valid.voxels != nullptr && __ldg(r.valid.voxels + nearest) == 0)
    return r.outside;
  if constexpr (Order == 0) {
    return __ldg(r.image.coefficients + nearest);
  } else {
    float unused[D];
    if constexpr (Order == 1)
      return linearInCell<D>(r.image, cell, unused);
    else
      return splineInCell<D, Order>(r.image, cell, false, unused);
  }
}

template <int D, int Order>
__device__ __forceinline__ float valueInCell(const LatticeToResample<D>& r, const Voxel<D>& voxel, const SplineCell<D>& cell)
{
  bool plain = r.valid.voxels == nullptr;
#pragma unroll
  for (int d = 0; d < D; ++d) {
    plain = plain && static_cast<unsigned>(cell.first[d]) < static_cast<unsigned>(max(r.image.size[d] - Order, 0));
    if (Order == 0)
      plain = plain && fabsf(cell.fraction[d] - 0.5f) < 0.5f - r.margin;
  }
  return plain ? valueInside<D, Order>(r.image, cell) : valueAtBorder<D, Order>(r, voxel, cell);
}

/// The lower 32 bits as a fraction in [0, 1), by 23 of them.
__device__ __forceinline__ float fractionOf(long long index)
{
  return __uint_as_float(0x3f800000u | (static_cast<unsigned>(index) >> 9)) - 1;
}

template <int D>
__device__ __forceinline__ SplineCell<D> cellAt(const long long (&index)[D])
{
  SplineCell<D> cell;
#pragma unroll
  for (int d = 0; d < D; ++d) {
    cell.first[d] = static_cast<int>(index[d] >> 32);
    cell.fraction[d] = fractionOf(index[d]);
  }
  return cell;
}

constexpr float wholeNumbers = 12582912; // 3 * 2^22: adding it rounds to whole numbers, which its lowest bits then hold
constexpr int bitsOfWholeNumbers = 0x4b400000;

/// The cell of index + shift; `index` is less by bitsOfWholeNumbers, and |shift| < 2^21.
template <int D>
__device__ __forceinline__ SplineCell<D> shiftedCell(const long long (&index)[D], const float (&shift)[D])
{
  SplineCell<D> cell;
#pragma unroll
  for (int d = 0; d < D; ++d) {
    const float rest = fractionOf(index[d]) + shift[d];
    const float rounded = rest + wholeNumbers, nearest = rounded - wholeNumbers;
    cell.first[d] = static_cast<int>(index[d] >> 32) + __float_as_int(rounded);
    cell.fraction[d] = rest - nearest;
    if (nearest > rest) {
      cell.first[d] -= 1;
      cell.fraction[d] += 1;
    }
  }
  return cell;
}

template <int D>
__device__ __forceinline__ void indexAt(const FixedPointMap<D>& map, const Voxel<D>& voxel, long long (&index)[D])
{
#pragma unroll
  for (int d = 0; d < D; ++d) {
    index[d] = map.start[d];
#pragma unroll
    for (int e = 0; e < D; ++e)
      index[d] += map.step[d][e] * voxel.index[e];
  }
}

/// Where a block of blockDim.x x blockDim.y threads works: each thread on `rowsAThread` rows, blockDim.y apart.
template <int D>
struct RowsOfThread {
  Voxel<D> voxel;
  int rows;
  float* to;
  std::size_t stride;

  __device__ RowsOfThread(const LatticeToResample<D>& r, int rowsAThread)
  {
    voxel.index[0] = blockIdx.x * blockDim.x + threadIdx.x;
    voxel.index[1] = blockIdx.y * blockDim.y * rowsAThread + threadIdx.y;
    int endRow = r.size[1];
    std::size_t row = voxel.index[1];
    if constexpr (D == 3) {
      voxel.index[2] = r.firstLayer + blockIdx.z;
      row += static_cast<std::size_t>(blockIdx.z) * r.size[1];
    } else {
      voxel.index[1] += r.firstLayer;
      endRow = r.endLayer;
    }
    rows = voxel.index[0] < r.size[0] ? min(rowsAThread, (endRow - voxel.index[1] + static_cast<int>(blockDim.y) - 1)
                                                             / static_cast<int>(blockDim.y))
                                      : 0;
    to = r.voxels + row * r.size[0] + voxel.index[0];
    stride = static_cast<std::size_t>(blockDim.y) * r.size[0];
  }
};

template <int D>
dim3 blocksFor(const LatticeToResample<D>& r, const dim3& threads, int rowsAThread)
{
  const int rows = D == 3 ? r.size[1] : r.endLayer - r.firstLayer;
  return dim3(ceilDiv<unsigned>(r.size[0], threads.x), ceilDiv<unsigned>(rows, threads.y * rowsAThread),
              D == 3 ? r.endLayer - r.firstLayer : 1);
}

}
