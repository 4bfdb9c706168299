#include "Components/FieldInterpolators/Shared/SeparableMarch.cuh"
#include "Components/FieldInterpolators/Shared/SeparableOnCuda.h"
#include "Core/Compute/Math/WithConstant.h"

namespace tessera {
namespace {

using namespace separable;

// These kernels are limited by arithmetic. With long marches, fewer lines are contracted twice.
constexpr int wantedRows = 46, maxThreads = 128, blocksAMultiprocessor = 5;
constexpr std::size_t sharedBytesForPoints = 40 << 10;

/// dT/dx = I + (du / d index) (d index / dx), D x D values a voxel.
template <int D>
struct WholeJacobian {
  PhysicalAxes<D> axes;

  __device__ float start(int, int) const { return 0; }
  __device__ void store(const float (&byIndex)[D][D], float* to, std::size_t perComponent) const
  {
#pragma unroll
    for (int r = 0; r < D; ++r) {
#pragma unroll
      for (int c = 0; c < D; ++c) {
        float slope = r == c ? 1 : 0;
#pragma unroll
        for (int a = 0; a < D; ++a)
          slope = fmaf(byIndex[r][a], axes.indexFromOffset[a][c], slope);
        to[(r * D + c) * perComponent] = slope;
      }
    }
  }
};

/// det dT/dx. It is det(I + M A) = det A det(A^-1 + M), so the sums over control points begin at A^-1.
template <int D>
struct JacobianDeterminant {
  PhysicalAxes<D> axes;

  __device__ float start(int row, int column) const { return axes.offsetFromIndex[row][column]; }
  __device__ void store(const float (&m)[D][D], float* to, std::size_t) const
  {
    float value;
    if constexpr (D == 2) {
      value = fmaf(m[0][0], m[1][1], -m[0][1] * m[1][0]);
    } else {
      const float a = fmaf(m[1][1], m[2][2], -m[1][2] * m[2][1]),
                  b = fmaf(m[1][0], m[2][2], -m[1][2] * m[2][0]),
                  c = fmaf(m[1][0], m[2][1], -m[1][1] * m[2][0]);
      value = fmaf(m[0][0], a, fmaf(-m[0][1], b, m[0][2] * c));
    }
    *to = value * axes.determinant;
  }
};

/// Derivatives by the grid's index, marching along y like displacements (displaceRows). Those by x come from
/// slopes along x, those by y from slopes along y, and those by z from lines that were contracted by slopes
/// along z.
template <int D, int Order, class Result>
__global__ void __launch_bounds__(maxThreads, blocksAMultiprocessor)
    derivatives(const __grid_constant__ March<D> m, const Result result)
{
  constexpr int taps = Order + 1;
  extern __shared__ float4 shared[];
  float4* along = shared; // [lines][width]
  float4* slopesAlong = D == 3 ? along + m.shape.area() : nullptr;
  float4* rowWeights = along + (D == 3 ? 2 : 1) * m.shape.area(); // [rows]
  float4* rowSlopes = rowWeights + m.shape.rows;                  // [rows]
  int* ends = reinterpret_cast<int*>(rowSlopes + m.shape.rows);   // [lines]

  const Place<D, Order, 1> place(m);
  if (!place.anyWanted(m))
    return;
  contractAlongZ(m, place, along, slopesAlong);
  fillRows<Order>(m.axes[1], place.y, place.rows, place.line, rowWeights, rowSlopes, ends);
  const AxisSupport support = supportOf(m.axes[0], min(place.x, m.axes[0].voxels - 1), Order);
  float w[taps], s[taps];
  axisWeights<Order, float>(support, w);
  axisDerivatives<Order, float>(support, s);
  __syncthreads();
  if (place.x >= m.axes[0].voxels)
    return;

  const int mine = support.start - place.pointX;
  float value[D][taps], byX[D][taps], byZ[D][taps];
  const auto load = [&]<int Slot>(int line) {
    float sum[D];
    contractAlongX<D, Order>(along + mine + line * m.shape.width, w, sum);
#pragma unroll
    for (int c = 0; c < D; ++c)
      value[c][Slot] = sum[c];
    contractAlongX<D, Order>(along + mine + line * m.shape.width, s, sum);
#pragma unroll
    for (int c = 0; c < D; ++c)
      byX[c][Slot] = sum[c];
    if constexpr (D == 3) {
      contractAlongX<D, Order>(slopesAlong + mine + line * m.shape.width, w, sum);
#pragma unroll
      for (int c = 0; c < D; ++c)
        byZ[c][Slot] = sum[c];
    }
  };
  float* to = m.store.values + place.voxel(m) * m.store.perVoxel;
  const std::size_t perRow = m.axes[0].voxels * m.store.perVoxel;
  marchRows<taps>(ends, place.rows, load, [&]<int First>(int row) {
    const float4 weights = rowWeights[row], slopes = rowSlopes[row];
    float byIndex[D][D];
#pragma unroll
    for (int c = 0; c < D; ++c) {
      byIndex[c][0] = ringSum<taps, First>(weights, byX[c], result.start(c, 0));
      byIndex[c][1] = ringSum<taps, First>(slopes, value[c], result.start(c, 1));
      if constexpr (D == 3)
        byIndex[c][2] = ringSum<taps, First>(weights, byZ[c], result.start(c, 2));
    }
    result.store(byIndex, to, m.store.perComponent);
    to += perRow;
  });
}

template <int D>
PhysicalAxes<D> physicalAxesOf(const AlignedField<D>& field)
{
  const Matrix<D> inverseAxes = inverse(field.indexFromOffset);
  PhysicalAxes<D> axes;
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < D; ++j) {
      axes.indexFromOffset[i][j] = static_cast<float>(field.indexFromOffset[i][j]);
      axes.offsetFromIndex[i][j] = static_cast<float>(inverseAxes[i][j]);
    }
  axes.determinant = static_cast<float>(determinant(field.indexFromOffset));
  return axes;
}

template <int D, int Order, class Result>
void launch(Context& context, const AlignedField<D>& field, const float* coefficients,
            const FieldTarget& target, std::size_t components)
{
  constexpr int arrays = D == 3 ? 2 : 1;
  const BlockShape shape = shapeFor(field, warpsOfFewestIdleLanes(field.axes[0].voxels), wantedRows, 1,
                                    arrays * sizeof(float4), sharedBytesForPoints);
  const std::size_t bytes =
      (arrays * shape.area() + 2 * shape.rows) * sizeof(float4) + shape.lines * sizeof(int);
  March<D> march = marchOf(field, coefficients, target, shape);
  march.store = fieldStoreOf(field, target, components);
  derivatives<D, Order, Result><<<blocksOf(march), threadsOf(shape), bytes, cudaStreamOf(context)>>>(
      march, Result{physicalAxesOf(field)});
  checkLaunch("separable derivatives");
}

template <template <int> class Result, int D>
void launchByOrder(Context& context, const AlignedField<D>& field, const float* coefficients,
                   const FieldTarget& target, std::size_t components)
{
  withSupport(context, field, coefficients, [&](const AlignedField<D>& supported, const float* points) {
    withConstant<1, 3>(field.order, [&]<int Order>() {
      launch<D, Order, Result<D>>(context, supported, points, target, components);
    });
  });
}

}

template <int D>
void separableJacobiansOnCuda(Context& context, const AlignedField<D>& field, const float* coefficients,
                              const FieldTarget& target)
{
  launchByOrder<WholeJacobian, D>(context, field, coefficients, target, D * D);
}

template <int D>
void separableJacobianDeterminantsOnCuda(Context& context, const AlignedField<D>& field,
                                         const float* coefficients, const FieldTarget& target)
{
  launchByOrder<JacobianDeterminant, D>(context, field, coefficients, target, 1);
}

TESSERA_INSTANTIATE_FUNCTIONS(separableJacobiansOnCuda<D>, separableJacobianDeterminantsOnCuda<D>);

}
