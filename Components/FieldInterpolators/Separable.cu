#include "Components/FieldInterpolators/Shared/SeparableOnCuda.h"

#include "Components/FieldInterpolators/Shared/SeparableMarch.cuh"
#include "Core/Compute/Cuda/BlockThreads.h"
#include "Core/Compute/Cuda/LaunchShape.cuh"
#include "Core/Compute/Math/WithConstant.h"

namespace tessera {
namespace {

using namespace separable;

constexpr int usualThreads = 256, maxThreads = 1024, blocksOfUsual = 4;
constexpr std::size_t sharedBytesForPoints = 40 << 10;

/// Writes D values a voxel.
template <int D>
struct FieldSink {
  float* to[D];
  unsigned toRow = 0, perRow;

  template <class Place>
  __device__ FieldSink(const March<D>& m, const Place& place)
      : perRow(m.axes[0].voxels * static_cast<unsigned>(m.store.perVoxel))
  {
    const std::size_t voxel = place.voxel(m);
#pragma unroll
    for (int c = 0; c < D; ++c) {
      to[c] = m.store.values + voxel * m.store.perVoxel + c * m.store.perComponent;
      // Hides the address, which the compiler would otherwise compute again in every row.
      asm("" : "+l"(to[c]));
    }
  }
  __device__ void operator()(const float (&u)[D])
  {
    // An explicit store: the compiler no longer sees that the hidden address is one of global memory.
#pragma unroll
    for (int c = 0; c < D; ++c)
      asm volatile("st.global.f32 [%0], %1;" ::"l"(to[c] + toRow), "f"(u[c]));
    toRow += perRow;
  }
};

template <int D, int Order, int MaxThreads>
__global__ void __launch_bounds__(MaxThreads, blocksOfUsual* usualThreads / MaxThreads)
    displacements(const __grid_constant__ March<D> m)
{
  extern __shared__ float4 shared[];
  displaceRows<D, Order>(m, shared, [&](const auto& place) { return FieldSink<D>(m, place); });
}

/// The number of rows in a block. Memory takes writes at full speed only if those in flight lie close
/// together. This matters most for planar rows that begin within a sector of 32 bytes. With dense control
/// points long marches cost less.
template <int D>
int wantedRows(const AlignedField<D>& field, const FieldTarget& target)
{
  constexpr int voxelsASector = 8;
  if (target.layout == FieldLayout::planar && field.axes[0].voxels % voxelsASector != 0)
    return 12;
  return field.axes[1].step > 1 / 3.5 ? 30 : 20;
}

/// Where the ends of a block's rows are sectors that are written in parts, fewer blocks are worth some idle
/// lanes.
template <int D>
BlockShape shapeOfBlocks(const AlignedField<D>& field, const FieldTarget& target)
{
  const int voxels = field.axes[0].voxels;
  const int warps =
      std::clamp(BlockThreads::orUsual(32 * depthOf<D> * warpsOfFewestBlocks(voxels)) / (32 * depthOf<D>), 1,
                 std::min(maxThreads / (32 * depthOf<D>), ceilDiv(voxels, 32)));
  return shapeFor(field, warps, wantedRows(field, target), depthOf<D>, sizeof(float4), sharedBytesForPoints);
}

template <int D, int Order>
void launch(Context& context, const AlignedField<D>& field, const float* coefficients,
            const FieldTarget& target)
{
  const BlockShape shape = shapeOfBlocks(field, target);
  const March<D> march = marchOf(field, coefficients, target, shape);
  const auto kernel = 32 * depthOf<D> * shape.warps > usualThreads ? displacements<D, Order, maxThreads>
                                                                   : displacements<D, Order, usualThreads>;
  tellLaunch(kernel, blocksOf(march), threadsOf(shape), sharedBytes<D>(shape));
  kernel<<<blocksOf(march), threadsOf(shape), sharedBytes<D>(shape), cudaStreamOf(context)>>>(march);
  checkLaunch("separable displacements");
}

}

SeparableLaunch separableDisplacementsLaunch(const AlignedField<3>& field)
{
  const BlockShape shape = shapeOfBlocks(field, FieldTarget{});
  const dim3 grid = blocksOf(marchOf(field, nullptr, {}, shape));
  const int threads = 32 * shape.warps * shape.depth;
  const auto kernel =
      threads > usualThreads ? displacements<3, 3, maxThreads> : displacements<3, 3, usualThreads>;
  return {tessera::shapeOf(kernel, 1.0 * grid.x * grid.y * grid.z, threads, sharedBytes<3>(shape)),
          {grid.x, grid.y, grid.z},
          shape.warps,
          shape.depth,
          shape.rows,
          shape.lines,
          shape.width};
}

template <int D>
void separableDisplacementsOnCuda(Context& context, const AlignedField<D>& field, const float* coefficients,
                                  const FieldTarget& target)
{
  withSupport(context, field, coefficients, [&](const AlignedField<D>& supported, const float* points) {
    withConstant<1, 3>(field.order,
                       [&]<int Order>() { launch<D, Order>(context, supported, points, target); });
  });
}

TESSERA_INSTANTIATE_FUNCTIONS(separableDisplacementsOnCuda<D>);

}
