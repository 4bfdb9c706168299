#include "Components/FieldInterpolators/SeparableOnCuda.h"

#include "Components/FieldInterpolators/SeparableMarch.cuh"

namespace tessera {
namespace {

using namespace separable;

constexpr int mostThreads = 256, blocksAMultiprocessor = 4;
constexpr std::size_t sharedBytesForPoints = 40 << 10;

template <int D>
constexpr int depthOf = D == 3 ? 2 : 1;

// To global memory, which the compiler cannot see in an address that it was made to forget.
__device__ __forceinline__ void storeGlobal(float* to, float value)
{
  asm volatile("st.global.f32 [%0], %1;" ::"l"(to), "f"(value));
}
__device__ __forceinline__ void storeGlobal(float* to, const float4& v)
{
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w));
}

/// Writes D values a voxel; planar (FieldStore's strides) or as one float4.
template <int D, int Order, bool Padded>
__global__ void __launch_bounds__(mostThreads, blocksAMultiprocessor) displacements(const __grid_constant__ March<D> m)
{
  constexpr int taps = Order + 1;
  extern __shared__ float4 shared[];
  float4* along = shared;                                        // [depth][lines][width]
  float4* rowWeights = along + depthOf<D> * m.shape.area();      // [rows]
  int* ends = reinterpret_cast<int*>(rowWeights + m.shape.rows); // [lines]

  const Place<D, Order, depthOf<D>> place(m);
  if (!place.anyWanted(m))
    return;
  contractAlongZ(m, place, along, nullptr);
  fillRows<Order>(m.axes[1], place.y, place.rows, place.line, rowWeights, nullptr, ends);
  const AxisSupport support = supportOf(m.axes[0], min(place.x, m.axes[0].voxels - 1), Order);
  float w[taps];
  axisWeights<Order, float>(support, w);
  __syncthreads();
  if (place.x >= m.axes[0].voxels || place.z >= place.depthOfField(m))
    return;

  const float4* mine = along + threadIdx.y * m.shape.area() + support.start - place.pointX;
  float ring[D][taps];
  const auto load = [&]<int Slot>(int line) {
    float sum[D];
    contractAlongX<D, Order>(mine + line * m.shape.width, w, sum);
#pragma unroll
    for (int c = 0; c < D; ++c)
      ring[c][Slot] = sum[c];
  };
  const std::size_t voxel = place.voxel(m);
  float* to[D];
#pragma unroll
  for (int c = 0; c < D; ++c) {
    to[c] = m.store.values + voxel * m.store.perVoxel + c * m.store.perComponent;
    asm("" : "+l"(to[c])); // keeps the address: the compiler would compute it anew in every row
  }
  const unsigned perRow = m.axes[0].voxels * static_cast<unsigned>(m.store.perVoxel);
  unsigned toRow = 0;
  marchRows<taps>(ends, place.rows, load, [&]<int First>(int row) {
    const float4 weights = rowWeights[row];
    float u[D];
#pragma unroll
    for (int c = 0; c < D; ++c)
      u[c] = ringSum<taps, First>(weights, ring[c], 0);
    if constexpr (Padded) {
      storeGlobal(to[0] + toRow, make_float4(u[0], u[1], D == 3 ? u[D - 1] : 0, 0));
    } else {
#pragma unroll
      for (int c = 0; c < D; ++c)
        storeGlobal(to[c] + toRow, u[c]);
    }
    toRow += perRow;
  });
}

/// Rows of a block. Memory takes writes at full speed only while those under way lie close together, and planar rows that begin
/// within a sector of 32 bytes need that most; dense control points want long marches.
template <int D>
int wantedRows(const AlignedField<D>& field, const FieldTarget& target)
{
  constexpr int voxelsASector = 8;
  if (target.layout == FieldLayout::planar && field.axes[0].voxels % voxelsASector != 0)
    return 12;
  return field.axes[1].step > 1 / 3.5 ? 30 : 20;
}

template <int D, int Order>
void launch(Context& context, const AlignedField<D>& field, const float* coefficients, const FieldTarget& target)
{
  // where the ends of a block's rows are sectors written in parts, few blocks are worth some idle lanes
  const int voxels = field.axes[0].voxels;
  const int warps = target.layout == FieldLayout::padded ? warpsOfFewestIdleLanes(voxels) : warpsOfFewestBlocks(voxels);
  const BlockShape shape = shapeFor(field, warps, wantedRows(field, target), depthOf<D>, sizeof(float4), sharedBytesForPoints);
  const std::size_t bytes = (depthOf<D> * shape.area() + shape.rows) * sizeof(float4) + shape.lines * sizeof(int);
  const auto kernel = target.layout == FieldLayout::padded ? displacements<D, Order, true> : displacements<D, Order, false>;
  kernel<<<blocksOf(field, shape), threadsOf(shape), bytes, cudaStreamOf(context)>>>(marchOf(field, coefficients, target, shape));
  checkLaunch("separable displacements");
}

}

template <int D>
void separableDisplacementsOnCuda(Context& context, const AlignedField<D>& field, const float* coefficients,
                                  const FieldTarget& target)
{
  withSupport(context, field, coefficients, [&](const AlignedField<D>& supported, const float* points) {
    if (field.order == 1)
      launch<D, 1>(context, supported, points, target);
    else if (field.order == 2)
      launch<D, 2>(context, supported, points, target);
    else
      launch<D, 3>(context, supported, points, target);
  });
}

template void separableDisplacementsOnCuda<2>(Context&, const AlignedField<2>&, const float*, const FieldTarget&);
template void separableDisplacementsOnCuda<3>(Context&, const AlignedField<3>&, const float*, const FieldTarget&);

}
