#include "Components/FieldInterpolators/Shared/SeparableOnCuda.h"

#include "Components/FieldInterpolators/Shared/SeparableMarch.cuh"
#include "Core/Compute/Performance/BlockThreads.h"
#include "Core/Compute/Performance/LaunchShape.cuh"

namespace tessera {
namespace {

using namespace separable;

constexpr int usualThreads = 256, maxThreads = 1024, blocksOfUsual = 4;
constexpr std::size_t sharedBytesForPoints = 40 << 10;

// An explicit store to global memory: the compiler can no longer see that an address hidden from it is
// global.
__device__ __forceinline__ void storeGlobal(float* to, float value)
{
  asm volatile("st.global.f32 [%0], %1;" ::"l"(to), "f"(value));
}
__device__ __forceinline__ void storeGlobal(float* to, const float4& v)
{
  asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(to), "f"(v.x), "f"(v.y), "f"(v.z), "f"(v.w));
}

/// Writes D values a voxel, either planar (with FieldStore's strides) or as one float4.
template <int D, bool Padded>
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
    if constexpr (Padded) {
      storeGlobal(to[0] + toRow, make_float4(u[0], u[1], D == 3 ? u[D - 1] : 0, 0));
    } else {
#pragma unroll
      for (int c = 0; c < D; ++c)
        storeGlobal(to[c] + toRow, u[c]);
    }
    toRow += perRow;
  }
};

template <int D, int Order, bool Padded, int MaxThreads>
__global__ void __launch_bounds__(MaxThreads, blocksOfUsual* usualThreads / MaxThreads)
    displacements(const __grid_constant__ March<D> m)
{
  extern __shared__ float4 shared[];
  displaceRows<D, Order>(m, shared, [&](const auto& place) { return FieldSink<D, Padded>(m, place); });
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
  const int usual =
      target.layout == FieldLayout::padded ? warpsOfFewestIdleLanes(voxels) : warpsOfFewestBlocks(voxels);
  const int warps = std::clamp(BlockThreads::orUsual(32 * depthOf<D> * usual) / (32 * depthOf<D>), 1,
                               std::min(maxThreads / (32 * depthOf<D>), ceilDiv(voxels, 32)));
  return shapeFor(field, warps, wantedRows(field, target), depthOf<D>, sizeof(float4), sharedBytesForPoints);
}

template <int D, int Order>
void launch(Context& context, const AlignedField<D>& field, const float* coefficients,
            const FieldTarget& target)
{
  const BlockShape shape = shapeOfBlocks(field, target);
  const March<D> march = marchOf(field, coefficients, target, shape);
  const bool padded = target.layout == FieldLayout::padded,
             large = 32 * depthOf<D> * shape.warps > usualThreads;
  const auto kernel =
      large ? padded ? displacements<D, Order, true, maxThreads> : displacements<D, Order, false, maxThreads>
      : padded ? displacements<D, Order, true, usualThreads>
               : displacements<D, Order, false, usualThreads>;
  kernel<<<blocksOf(march), threadsOf(shape), sharedBytes<D>(shape), cudaStreamOf(context)>>>(march);
  checkLaunch("separable displacements");
}

}

/// First the block's warps share the sums along z: 160 instructions for a warp's place, 112 for 32 sums, and
/// 83 for the weights of 32 rows. After the barrier a thread takes 114 for its own weights and its first
/// lines of control points, 28 for each line more, and 25 for a row. Lanes of a warp read a float4 of shared
/// memory for each control point, of which 32 / spacing are different.
KernelLaunch separableDisplacementsLaunch(const AlignedField<3>& field)
{
  constexpr double warpBytes = 128, axes = 3;
  const BlockShape shape = shapeOfBlocks(field, FieldTarget{});
  const March<3> march = marchOf(field, nullptr, {}, shape);
  const dim3 grid = blocksOf(march);
  const int warps = shape.warps * shape.depth, threads = 32 * warps;
  const double ofZ = std::ceil(1.0 * shape.lines / warps) * std::ceil(shape.width / 32.0),
               ofRows = std::min(1.0, std::ceil(shape.rows / 32.0) / warps),
               rows = 1.0 * field.axes[1].voxels / grid.y, lines = rows * field.axes[1].step;
  // A float4 of shared memory is read for eight lanes at a time, and some of these meet in a bank.
  constexpr double wavefronts = 4.5;
  KernelCost sums;
  // Most blocks need fewer lines than the shape has room for; the mean over the warps.
  const double linesOfBlock = std::min(1.0 * shape.lines, (shape.rows - 1) * field.axes[1].step + 4),
               ofEach = linesOfBlock / warps * std::ceil(shape.width / 32.0);
  sums.issueSlots = 169 + 112 * ofEach + 83 * ofRows;
  sums.fp32 = 10 + 65 * ofEach;
  sums.fp64 = 47 + 30 * ofRows;
  sums.special = 12 + 10 * ofRows;
  sums.integer = 44 + 22 * ofEach + 23 * ofRows;
  sums.globalInstructions = 15 * ofEach;
  sums.l1Wavefronts = 15 * ofEach;
  sums.sharedInstructions = 2 * ofEach + ofRows;
  sums.sharedWavefronts = 8 * ofEach + ofRows;
  sums.l2Sectors = 15 * ofEach * std::min(4.5, shape.width / 8.0 + 0.3);
  sums.dramReadBytes = axes * sizeof(float) * static_cast<double>(field.pointCount())
                       / (1.0 * grid.x * grid.y * grid.z * warps);
  sums.barriers = 1;
  sums.chain = {{LatencyClass::cycle, 458 + 228 * ofZ + 256 * ofRows},
                {LatencyClass::special, 9 + 7 * ofRows},
                {LatencyClass::constant, 6},
                {LatencyClass::l2, 15 * ofZ, 15},
                {LatencyClass::barrier, 1}};
  KernelCost begin;
  begin.issueSlots = 114;
  begin.fp32 = 57;
  begin.special = 4;
  begin.integer = 23;
  begin.sharedInstructions = 16;
  begin.sharedWavefronts = 16 * wavefronts;
  begin.chain = {{LatencyClass::cycle, 130}, {LatencyClass::shared, 1}, {LatencyClass::constant, 2}};
  KernelCost line;
  line.issueSlots = 28;
  line.fp32 = 13;
  line.integer = 4;
  line.sharedInstructions = 5;
  line.sharedWavefronts = 4 * wavefronts + 1;
  line.chain = {{LatencyClass::cycle, 72}, {LatencyClass::shared, 1}};
  KernelCost row;
  row.issueSlots = 25;
  row.fp32 = 16;
  row.integer = 4;
  row.globalInstructions = row.l1Wavefronts = axes;
  row.sharedInstructions = 1;
  row.sharedWavefronts = 1.5;
  row.l2Sectors = 4 * axes;
  row.dramWrittenBytes = axes * warpBytes;
  row.chain = {{LatencyClass::cycle, 52}, {LatencyClass::shared, 1}};
  // Warps beyond the ends of x and z have no rows.
  const double used = std::ceil(field.axes[0].voxels / 32.0) * field.axes[2].voxels
                      / (1.0 * grid.x * shape.warps * grid.z * shape.depth);
  KernelCost marching;
  marching.add(used, begin).add(used * lines, line).add(used * rows, row);
  const auto kernel = threads > usualThreads ? displacements<3, 3, false, maxThreads>
                                             : displacements<3, 3, false, usualThreads>;
  return {"field",
          {sums, marching},
          tessera::shapeOf(kernel, 1.0 * grid.x * grid.y * grid.z, threads, sharedBytes<3>(shape))};
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

template void separableDisplacementsOnCuda<2>(Context&, const AlignedField<2>&, const float*,
                                              const FieldTarget&);
template void separableDisplacementsOnCuda<3>(Context&, const AlignedField<3>&, const float*,
                                              const FieldTarget&);

}
