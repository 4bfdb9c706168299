#pragma once

#include "Core/Compute/Cuda/LoadConstant.h"
#include "Core/Compute/HostDevice.h"
#include "Core/Compute/Math/GridIndex.h"
#include "Core/Compute/Math/LinearMix.h"
#include "Core/Compute/Math/SplinePolynomials.h"
#include "Core/Registration/Interpolation/InterpolatorOnCuda.h"

// Interpolation at one point, for kernels; the same code runs on the host. Points, indices and the choice of
// the cell are in double, sums in float, all in the order of Interpolator::evaluate on the CPU, so that the
// bits are equal.
namespace tessera {

/// The cell of a point: the first knot of its support along each axis, and its fraction of the cell.
/// `interior` is true if no knot is mirrored.
template <int D>
struct SplineCell {
  int first[D];
  float fraction[D];
  bool interior;
};

/// The row (y, z) of a grid; `y` and `z` lie in it.
template <int D>
TESSERA_HOST_DEVICE inline const float* rowOf(const InterpolatorOnCuda<D>& image, int y, int z)
{
  const int row = D == 3 ? y + z * image.size[1] : y;
  return image.coefficients + static_cast<long long>(row) * image.size[0];
}

/// False if the continuous index is NaN or not in [-0.5, size - 0.5) along some axis.
template <int D>
TESSERA_HOST_DEVICE inline bool isInside(const InterpolatorOnCuda<D>& image, const Vec<D>& index)
{
  bool inside = true;
  TESSERA_UNROLL
  for (int d = 0; d < D; ++d)
    inside = inside && isInVoxels(index[d], image.size[d]);
  return inside;
}

/// The cell of an index that is inside.
template <int D, int Order>
TESSERA_HOST_DEVICE inline SplineCell<D> cellOf(const InterpolatorOnCuda<D>& image, const Vec<D>& index)
{
  static_assert(Order >= 1 && Order <= 5);
  SplineCell<D> cell;
  cell.interior = true;
  TESSERA_UNROLL
  for (int d = 0; d < D; ++d) {
    const KnotCell along = knotCell<Order>(index[d], image.size[d], Order == 1 && image.lastVoxelClosesCell);
    cell.fraction[d] = static_cast<float>(along.fraction);
    cell.first[d] = along.first;
    cell.interior = cell.interior && along.first >= 0 && along.first + Order < image.size[d];
  }
  return cell;
}

/// Order 1: the value and, unless unused, the slopes along the index axes. It loads 4 * 2^D bytes.
template <int D>
TESSERA_HOST_DEVICE inline float linearInCell(const InterpolatorOnCuda<D>& image, const SplineCell<D>& cell,
                                              float (&slope)[D])
{
  constexpr int rowCount = 1 << (D - 1);
  float low[rowCount], high[rowCount];
  if (cell.interior) {
    const float* const corner =
        rowOf<D>(image, cell.first[1], D == 3 ? cell.first[D - 1] : 0) + cell.first[0];
    const long long plane = static_cast<long long>(image.size[0]) * image.size[1];
    TESSERA_UNROLL
    for (int r = 0; r < rowCount; ++r) {
      const float* const start = corner + (r & 1) * image.size[0] + (r >> 1) * plane;
      low[r] = loadConstant(start);
      high[r] = loadConstant(start + 1);
    }
  } else {
    int knot[D][2];
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d) {
      TESSERA_UNROLL
      for (int k = 0; k < 2; ++k)
        knot[d][k] = image.repeatsBorder ? repeated(cell.first[d] + k, image.size[d] - 1)
                                         : mirrored(cell.first[d] + k, image.size[d] - 1);
    }
    TESSERA_UNROLL
    for (int r = 0; r < rowCount; ++r) {
      const float* const row = rowOf<D>(image, knot[1][r & 1], D == 3 ? knot[D - 1][r >> 1] : 0);
      low[r] = loadConstant(row + knot[0][0]);
      high[r] = loadConstant(row + knot[0][1]);
    }
  }
  return mixLinearly<D, true>(low, high, cell.fraction, slope);
}

/// The weights of the knots at fraction t, and their derivatives.
template <int Order>
struct KnotWeights {
  float value[Order + 1], slope[Order + 1];

  TESSERA_HOST_DEVICE explicit KnotWeights(float t)
  {
    constexpr WeightPolynomials<Order, float> polynomials;
    TESSERA_UNROLL
    for (int k = 0; k <= Order; ++k) {
      value[k] = polynomials.value[Order][k];
      TESSERA_UNROLL
      for (int j = Order - 1; j >= 0; --j)
        value[k] = value[k] * t + polynomials.value[j][k];
      slope[k] = polynomials.slope[Order - 1][k];
      TESSERA_UNROLL
      for (int j = Order - 2; j >= 0; --j)
        slope[k] = slope[k] * t + polynomials.slope[j][k];
    }
  }
};

/// The sum of products in the order in which the CPU adds up the lanes of a vector.
template <int Count>
TESSERA_HOST_DEVICE inline float sumOfLanes(const float (&a)[Count], const float (&b)[Count])
{
  static_assert(Count <= 6);
  float p[8] = {};
  TESSERA_UNROLL
  for (int k = 0; k < Count; ++k)
    p[k] = a[k] * b[k];
  if constexpr (Count <= 4)
    return (p[0] + p[2]) + (p[1] + p[3]);
  else
    return ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
}

/// Orders 2 to 5: the value and, if wanted, the slopes along the index axes. It loads 4 * (Order + 1)^D
/// bytes.
template <int D, int Order>
TESSERA_HOST_DEVICE inline float splineInCell(const InterpolatorOnCuda<D>& image, const SplineCell<D>& cell,
                                              bool withGradient, float (&slope)[D])
{
  constexpr int width = Order + 1;
  int knot[D][width];
  TESSERA_UNROLL
  for (int d = 0; d < D; ++d) {
    TESSERA_UNROLL
    for (int k = 0; k < width; ++k)
      knot[d][k] = mirrored(cell.first[d] + k, image.size[d] - 1);
  }
  const KnotWeights<Order> x(cell.fraction[0]), y(cell.fraction[1]),
      z(cell.fraction[D - 1]); // not used in 2D
  float all[width] = {}, alongY[width] = {}, alongZ[width] = {};
  TESSERA_UNROLL
  for (int k = 0; k < (D == 3 ? width : 1); ++k) {
    float rows[width] = {}, rowsY[width] = {};
    TESSERA_UNROLL
    for (int j = 0; j < width; ++j) {
      const float* const row = rowOf<D>(image, knot[1][j], D == 3 ? knot[D - 1][k] : 0);
      TESSERA_UNROLL
      for (int i = 0; i < width; ++i) {
        const float coefficient = loadConstant(row + knot[0][i]);
        rows[i] += y.value[j] * coefficient;
        rowsY[i] += y.slope[j] * coefficient;
      }
    }
    TESSERA_UNROLL
    for (int i = 0; i < width; ++i) {
      all[i] = D == 3 ? all[i] + z.value[k] * rows[i] : rows[i];
      alongY[i] = D == 3 ? alongY[i] + z.value[k] * rowsY[i] : rowsY[i];
      alongZ[i] += z.slope[k] * rows[i];
    }
  }
  if (withGradient) {
    slope[0] = sumOfLanes(all, x.slope);
    slope[1] = sumOfLanes(alongY, x.value);
    if constexpr (D == 3)
      slope[2] = sumOfLanes(alongZ, x.value);
  }
  return sumOfLanes(all, x.value);
}

/// Order 0: the value of the nearest voxel of an index that is inside, and the central differences there, per
/// index.
template <int D>
TESSERA_HOST_DEVICE inline float nearestVoxelAt(const InterpolatorOnCuda<D>& image, const Vec<D>& index,
                                                bool withGradient, Vec<D>& differences)
{
  int nearest[D];
  TESSERA_UNROLL
  for (int d = 0; d < D; ++d)
    nearest[d] = nearestVoxel(index[d], image.size[d], !image.nearestInDouble);
  const float* const voxel = rowOf<D>(image, nearest[1], D == 3 ? nearest[D - 1] : 0) + nearest[0];
  if (withGradient) {
    long long stride = 1;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d) {
      differences[d] = centralDifference(voxel, nearest[d], image.size[d], stride,
                                         [](const float* at) { return loadConstant(at); });
      stride *= image.size[d];
    }
  }
  return loadConstant(voxel);
}

/// The value and, if wanted, the derivatives along the index axes at a continuous index. If the index is not
/// inside, it returns false and zeros.
template <int D, int Order>
TESSERA_HOST_DEVICE inline bool valueAtIndex(const InterpolatorOnCuda<D>& image, const Vec<D>& index,
                                             bool withGradient, float& value, float (&gradientPerIndex)[D])
{
  value = 0;
  TESSERA_UNROLL
  for (int d = 0; d < D; ++d)
    gradientPerIndex[d] = 0;
  if (!isInside<D>(image, index))
    return false;
  if constexpr (Order == 0) {
    Vec<D> differences{};
    value = nearestVoxelAt<D>(image, index, withGradient, differences);
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d)
      gradientPerIndex[d] = static_cast<float>(differences[d]);
  } else if constexpr (Order == 1) {
    value = linearInCell<D>(image, cellOf<D, 1>(image, index), gradientPerIndex);
  } else {
    value = splineInCell<D, Order>(image, cellOf<D, Order>(image, index), withGradient, gradientPerIndex);
  }
  return true;
}

/// The same at a point, with derivatives in 1/mm: d value / d point = (d index / d point)^T d value / d
/// index.
template <int D, int Order>
TESSERA_HOST_DEVICE inline bool valueAt(const InterpolatorOnCuda<D>& image, const Vec<D>& pointMm,
                                        bool withGradient, float& value, float (&gradientPerMm)[D])
{
  const Vec<D> index = image.pointToIndex(pointMm);
  const Matrix<D>& fromOffset = image.pointToIndex.fromOffset;
  if constexpr (Order == 0) { // multiplied in double, since differences of voxels need not be floats
    Vec<D> differences{};
    const bool inside = isInside<D>(image, index);
    value = inside ? nearestVoxelAt<D>(image, index, withGradient, differences) : 0.0f;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d) {
      double sum = 0;
      TESSERA_UNROLL
      for (int j = 0; j < D; ++j)
        sum += fromOffset[j][d] * differences[j];
      gradientPerMm[d] = static_cast<float>(sum);
    }
    return inside;
  } else {
    float slope[D];
    const bool inside = valueAtIndex<D, Order>(image, index, withGradient, value, slope);
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d) {
      float sum = static_cast<float>(fromOffset[0][d]) * slope[0];
      TESSERA_UNROLL
      for (int j = 1; j < D; ++j)
        sum += static_cast<float>(fromOffset[j][d]) * slope[j];
      gradientPerMm[d] = sum;
    }
    return inside;
  }
}

/// For a series the answer is that of the nearest slice, with the derivative 0 along time.
template <int D, int Order>
TESSERA_HOST_DEVICE inline bool valueAt(const SlicedSeriesOnCuda<D>& slices, const Vec<D>& pointMm,
                                        bool withGradient, float& value, float (&gradientPerMm)[D])
{
  value = 0;
  TESSERA_UNROLL
  for (int d = 0; d < D; ++d)
    gradientPerMm[d] = 0;
  const double time = slices.pointToIndex.along(D - 1, pointMm);
  if (!isInTimes(slices.count, time))
    return false;
  InterpolatorOnCuda<D - 1> slice = slices.first;
  slice.coefficients += static_cast<long long>(nearestTimeOf(slices.count, time)) * slices.voxelsOfSlice;
  Vec<D - 1> inSliceMm;
  TESSERA_UNROLL
  for (int d = 0; d < D - 1; ++d)
    inSliceMm[d] = pointMm[d];
  float gradient[D - 1];
  const bool inside = valueAt<D - 1, Order>(slice, inSliceMm, withGradient, value, gradient);
  TESSERA_UNROLL
  for (int d = 0; d < D - 1; ++d)
    gradientPerMm[d] = gradient[d];
  return inside;
}

}
