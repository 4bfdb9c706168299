#pragma once

#include "Components/Resamplers/Shared/ResamplingKernels.h"
#include "Core/Registration/Interpolation/InterpolatorOnCuda.cuh"
#include "Core/Registration/Interpolation/LabelMajority.h"

// Shared by the kernels that resample: the value of the moving image at an index.
namespace tessera::resampling {

/// Interpolation by B-splines of order 0 to 5, or the label with the largest linear weight.
enum class Interpolation { order0, order1, order2, order3, order4, order5, labelMajority };

constexpr int orderOf(Interpolation kind)
{
  return kind == Interpolation::labelMajority ? 1 : static_cast<int>(kind);
}

/// Calls function.template operator()<Kind>() for the interpolation of an image.
template <int D, class Function>
void withInterpolation(const InterpolatorOnCuda<D>& image, Function&& function)
{
  if (image.order == orderOfLabels)
    function.template operator()<Interpolation::labelMajority>();
  else
    withOrder(image.order,
              [&]<int Order>() { function.template operator()<static_cast<Interpolation>(Order)>(); });
}

/// A voxel of the output lattice.
template <int D>
struct Voxel {
  int index[D];
};

/// The corners of a cell of order 1, those beyond the border repeated.
template <int D>
__device__ void readCorners(const InterpolatorOnCuda<D>& image, const SplineCell<D>& cell,
                            float (&corners)[1 << D])
{
#pragma unroll
  for (int c = 0; c < 1 << D; ++c) {
    int at[3] = {};
#pragma unroll
    for (int d = 0; d < D; ++d)
      at[d] = repeated(cell.first[d] + (c >> d & 1), image.size[d] - 1);
    corners[c] = __ldg(rowOf<D>(image, at[1], at[2]) + at[0]);
  }
}

/// The weights of a cell's knots, from the first one on.
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

/// Loads a voxel of the image, and lets the second-level cache fetch the neighbouring line as well.
__device__ __forceinline__ float loadVoxel(const float* voxel)
{
#if __CUDA_ARCH__ >= 800
  float value;
  asm("ld.global.nc.L2::256B.f32 %0, [%1];" : "=f"(value) : "l"(voxel));
  return value;
#else
  return __ldg(voxel);
#endif
}

/// The value in a cell whose knots all lie in the image, `corner` being the first. `row` and `plane` are the
/// voxels in memory from one row or plane to the next. Loads 4 (Order + 1)^D bytes.
template <int D, int Order>
__device__ __forceinline__ float valueFrom(const float* corner, std::ptrdiff_t row, std::ptrdiff_t plane,
                                           const float (&fraction)[D])
{
  if constexpr (Order == 0) {
    return loadVoxel(corner);
  } else if constexpr (Order == 1) {
    float rows[1 << (D - 1)];
#pragma unroll
    for (int r = 0; r < 1 << (D - 1); ++r) {
      const float* const start = corner + (r & 1) * row + (r >> 1) * plane;
      rows[r] = between(loadVoxel(start), loadVoxel(start + 1), fraction[0]);
    }
    const float front = between(rows[0], rows[1], fraction[1]);
    if constexpr (D == 2)
      return front;
    else
      return between(front, between(rows[2], rows[3], fraction[1]), fraction[2]);
  } else {
    float x[Order + 1], y[Order + 1], z[Order + 1];
    knotWeights<Order>(fraction[0], x);
    knotWeights<Order>(fraction[1], y);
    knotWeights<Order>(fraction[D - 1], z);
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
          ofRow = fmaf(x[i], loadVoxel(start + i), ofRow);
        ofPlane = fmaf(y[j], ofRow, ofPlane);
      }
      sum = D == 3 ? fmaf(z[k], ofPlane, sum) : ofPlane;
    }
    return sum;
  }
}

template <int D, int Order>
__device__ __forceinline__ float valueInside(const InterpolatorOnCuda<D>& image, const SplineCell<D>& cell)
{
  const float* const start = rowOf<D>(image, cell.first[1], D == 3 ? cell.first[D - 1] : 0) + cell.first[0];
  return valueFrom<D, Order>(start, image.size[0],
                             D == 3 ? static_cast<std::ptrdiff_t>(image.size[0]) * image.size[1] : 0,
                             cell.fraction);
}

/// Bound of the error of a sum of linear weights, relative to the error of the cell's fractions.
constexpr float errorOfSums = 8;

/// The label with the largest weight; false if the error `margin` of the fractions leaves the choice open.
template <int D>
__device__ __forceinline__ bool majority(const float (&corners)[1 << D], const SplineCell<D>& cell,
                                         float margin, float& label)
{
  constexpr int count = 1 << D;
  label = corners[0];
  bool same = true;
#pragma unroll
  for (int c = 1; c < count; ++c)
    same = same && corners[c] == corners[0];
  if (same)
    return true;
  float weight[count], largest = -1, second = -1; // second: the largest weight of the other labels
#pragma unroll
  for (int c = 0; c < count; ++c) {
    weight[c] = 1;
#pragma unroll
    for (int d = 0; d < D; ++d)
      weight[c] *= c >> d & 1 ? cell.fraction[d] : 1 - cell.fraction[d];
  }
#pragma unroll
  for (int c = 0; c < count; ++c) {
    float sum = 0;
#pragma unroll
    for (int other = 0; other < count; ++other)
      sum += corners[other] == corners[c] ? weight[other] : 0;
    if (largest >= 0 && corners[c] == label)
      continue;
    if (sum > largest) {
      second = largest;
      largest = sum;
      label = corners[c];
    } else {
      second = fmaxf(second, sum);
    }
  }
  return largest - second > errorOfSums * margin;
}

/// Whether the voxel nearest to a cell's point is valid, and certain to be the nearest.
template <int D, int Order>
__device__ __forceinline__ bool isSurelyValid(const LatticeToResample<D>& r, const SplineCell<D>& cell)
{
  // the cell of an even order begins half a voxel before its middle knot
  constexpr bool even = Order % 2 == 0;
  bool sure = r.validHasImagesGrid;
  std::size_t nearest = 0;
#pragma unroll
  for (int d = D - 1; d >= 0; --d) {
    const float fraction = cell.fraction[d];
    sure = sure && fabsf(even ? fminf(fraction, 1 - fraction) : fraction - 0.5f) > r.margin;
    nearest = nearest * r.image.size[d] + (cell.first[d] + Order / 2 + (!even && fraction >= 0.5f ? 1 : 0));
  }
  return sure && __ldg(r.valid.voxels + nearest) != 0;
}

/// The value for orders 2 to 5 with mirrored knots beyond the border. Has the bits of valueFrom where no knot
/// lies there.
template <int D, int Order>
__device__ __noinline__ float splineAtBorder(const InterpolatorOnCuda<D>& image, SplineCell<D> cell)
{
  float x[Order + 1], y[Order + 1], z[Order + 1], sum = 0;
  int columns[Order + 1], rows[Order + 1];
  knotWeights<Order>(cell.fraction[0], x);
  knotWeights<Order>(cell.fraction[1], y);
  knotWeights<Order>(cell.fraction[D - 1], z);
#pragma unroll
  for (int i = 0; i <= Order; ++i) {
    columns[i] = mirrored(cell.first[0] + i, image.size[0] - 1);
    rows[i] = mirrored(cell.first[1] + i, image.size[1] - 1);
  }
#pragma unroll
  for (int k = 0; k <= (D == 3 ? Order : 0); ++k) {
    const int plane = D == 3 ? mirrored(cell.first[D - 1] + k, image.size[D - 1] - 1) : 0;
    float ofPlane = 0;
#pragma unroll
    for (int j = 0; j <= Order; ++j) {
      const float* const row = rowOf<D>(image, rows[j], plane);
      float ofRow = 0;
#pragma unroll
      for (int i = 0; i <= Order; ++i)
        ofRow = fmaf(x[i], __ldg(row + columns[i]), ofRow);
      ofPlane = fmaf(y[j], ofRow, ofPlane);
    }
    sum = D == 3 ? fmaf(z[k], ofPlane, sum) : ofPlane;
  }
  return sum;
}

/// The value for orders above 0 in a cell with knots beyond the border. This is rare: a call instead of
/// inlined code saves registers.
template <int D, int Order>
__device__ __noinline__ float valueAtBorder(const InterpolatorOnCuda<D>& image, SplineCell<D> cell)
{
  if constexpr (Order == 1) {
    float unused[D];
    cell.interior = false;
    return linearInCell<D>(image, cell, unused);
  } else {
    return splineAtBorder<D, Order>(image, cell);
  }
}

/// The distance of a cell's point from the border of the image, in voxels; negative outside.
template <int D, int Order>
__device__ __forceinline__ float depthInside(const InterpolatorOnCuda<D>& image, const SplineCell<D>& cell)
{
  constexpr float toBorder = Order % 2 == 0 ? 0.0f : 0.5f; // voxels before the first inner cell
  float depth = HUGE_VALF;
#pragma unroll
  for (int d = 0; d < D; ++d) {
    const int middle = cell.first[d] + Order / 2;
    const float fromLow = static_cast<float>(middle) + cell.fraction[d] + toBorder;
    const float fromHigh = static_cast<float>(image.size[d] - 1 - middle) - cell.fraction[d] + (1 - toBorder);
    depth = fminf(depth, fminf(fromLow, fromHigh));
  }
  return depth;
}

/// The value in any cell. False where the CPU's expressions are needed: if a decision is not certain, or
/// where a mask or extrapolation meets the border.
template <int D, Interpolation Kind>
__device__ __forceinline__ bool valueInCell(const LatticeToResample<D>& r, const SplineCell<D>& cell,
                                            float& value)
{
  constexpr int Order = orderOf(Kind);
  bool plain = true;
#pragma unroll
  for (int d = 0; d < D; ++d) {
    plain = plain && static_cast<unsigned>(cell.first[d]) < r.innerCells[d];
    if (Order == 0)
      plain = plain && fabsf(cell.fraction[d] - 0.5f) < 0.5f - r.margin;
  }
  if (plain && r.valid.voxels != nullptr)
    plain = isSurelyValid<D, Order>(r, cell);
  if constexpr (Kind != Interpolation::labelMajority)
    if (plain) {
      value = valueInside<D, Order>(r.image, cell);
      return true;
    }
  value = r.outside;
  if (!plain) {
    const float depth = depthInside<D, Order>(r.image, cell);
    if (r.extrapolation != Extrapolation::constant || !(fabsf(depth) > r.margin))
      return false;
    if (depth < 0)
      return true;
    if (Order == 0 || r.valid.voxels != nullptr)
      return false;
  }
  if constexpr (Kind == Interpolation::labelMajority) {
    float corners[1 << D];
    readCorners<D>(r.image, cell, corners);
    return majority<D>(corners, cell, r.margin, value);
  } else if constexpr (Order > 0) {
    value = valueAtBorder<D, Order>(r.image, cell);
  }
  return true;
}

}
