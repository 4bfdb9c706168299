#pragma once

#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Compute/Cuda/LaunchShape.cuh"
#include "Core/Compute/Cuda/LoadConstant.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Registration/FieldInterpolator.h"

#include <cstddef>
#include <cstdint>

// Code that the CUDA methods of FieldInterpolator share. The work of one thread is host-device code, so that
// tests can run it thread by thread without a GPU.
namespace tessera {

/// Stores a value that will not be read soon, so that it leaves the caches first.
template <class T>
TESSERA_HOST_DEVICE inline void storeOnce(T* to, T value)
{
#ifdef __CUDA_ARCH__
  __stcs(to, value);
#else
  *to = value;
#endif
}

/// sum_i weights[i] * values[i], computed as one product and N - 1 fused multiply-adds.
template <int N>
TESSERA_HOST_DEVICE inline float weightedSum(const float (&weights)[4], const float (&values)[N])
{
  float sum = weights[0] * values[0];
  TESSERA_UNROLL
  for (int i = 1; i < N; ++i)
    sum = fmaf(weights[i], values[i], sum);
  return sum;
}

TESSERA_HOST_DEVICE inline float linear(float atZero, float atOne, float fraction)
{
  return fmaf(fraction, atOne - atZero, atZero);
}

/// A FieldTarget for kernels: component c of voxel v is values[v * perVoxel + c * perComponent].
struct FieldStore {
  float* values;
  const std::uint8_t* mask;
  std::size_t perVoxel, perComponent;

  TESSERA_HOST_DEVICE bool wants(std::size_t voxel) const { return mask == nullptr || mask[voxel] != 0; }

  /// Writes all components of a voxel.
  template <int N>
  TESSERA_HOST_DEVICE void all(std::size_t voxel, const float (&components)[N]) const
  {
    TESSERA_UNROLL
    for (int c = 0; c < N; ++c)
      storeOnce(values + (voxel * perVoxel + c * perComponent), components[c]);
  }
};

template <int D>
FieldStore fieldStoreOf(const AlignedField<D>& field, const FieldTarget& target, std::size_t components = D)
{
  const bool planar = target.layout == FieldLayout::planar;
  return {target.values, target.mask, planar ? 1 : components, planar ? field.voxelCount() : 1};
}

/// The control points of each component, x fastest; points[2] is 1 in 2D.
struct ControlGrid {
  const float* coefficients;
  int points[3];
  std::size_t perComponent;
};

template <int D>
ControlGrid controlGridOf(const AlignedField<D>& field, const FieldCoefficients& coefficients)
{
  ControlGrid grid{coefficients.onCuda, {1, 1, 1}, field.pointCount()};
  for (int d = 0; d < D; ++d)
    grid.points[d] = field.axes[d].points;
  return grid;
}

/// An entry of a table: the weights of the Order + 1 control points of a voxel along one axis.
template <int Order>
struct SplineWeights {
  static constexpr int order = Order;
  TESSERA_HOST_DEVICE static float4 of(const AxisSupport& support)
  {
    float w[4] = {};
    axisWeights<Order, float>(support, w);
    return make_float4(w[0], w[1], w[2], w[3]);
  }
};

/// An entry of a table: the four cubic weights as fractions of three linear interpolations, x from c0 to c1,
/// y from c2 to c3, and z between the results (Sigg and Hadwiger, "Fast third-order texture filtering", GPU
/// Gems 2, 2005).
struct LinearFractions {
  static constexpr int order = 3;
  TESSERA_HOST_DEVICE static float4 of(const AxisSupport& support)
  {
    double w[4];
    bsplineWeights<3, double>(support.distance, w);
    return make_float4(static_cast<float>(w[1] / (w[0] + w[1])), static_cast<float>(w[3] / (w[2] + w[3])),
                       static_cast<float>(w[2] + w[3]), 0);
  }
};

/// For each voxel of an axis its entry and its first control point, -1 outside of the valid region.
struct AxisTable {
  const float4* entries;
  const int* starts;
};

struct AxisTablesFill {
  FieldAxis axes[3];
  int count;
  float4* entries;
  int* starts;

  template <class Entry>
  TESSERA_HOST_DEVICE void fill(int i) const
  {
    int voxel = i, d = 0;
    while (voxel >= axes[d].voxels)
      voxel -= axes[d++].voxels;
    const AxisSupport support = supportOf(axes[d], voxel, Entry::order);
    entries[i] = Entry::of(support);
    starts[i] = support.inside ? support.start : -1;
  }
};

// Writes 20 bytes for each voxel of each axis.
template <class Entry>
__global__ void fillAxisTables(AxisTablesFill tables)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < tables.count)
    tables.fill<Entry>(i);
}

/// The tables of all axes of a field of any grid spacing. They are computed in the stream's order.
template <int D>
class AxisTables {
public:
  template <class Entry>
  static AxisTables of(const Context& context, const AlignedField<D>& field)
  {
    constexpr int threads = 128;
    AxisTables tables;
    AxisTablesFill fill{};
    for (int d = 0; d < D; ++d) {
      fill.axes[d] = field.axes[d];
      tables.firsts_[d] = fill.count;
      fill.count += fill.axes[d].voxels;
    }
    tables.entries_ = Buffer<float4>(context, fill.count);
    tables.starts_ = Buffer<int>(context, fill.count);
    fill.entries = tables.entries_.span().data();
    fill.starts = tables.starts_.span().data();
    fillAxisTables<Entry><<<ceilDiv(fill.count, threads), threads, 0, cudaStreamOf(context)>>>(fill);
    checkLaunch("fillAxisTables");
    return tables;
  }

  AxisTable operator[](int axis) const
  {
    return {entries_.span().data() + firsts_[axis], starts_.span().data() + firsts_[axis]};
  }

private:
  Buffer<float4> entries_;
  Buffer<int> starts_;
  int firsts_[D];
};

/// A lattice with one thread a voxel: blocks have `threads` along x, and the rows are y + voxels[1] * z.
struct VoxelGrid {
  int voxels[3];
  unsigned rows;

  TESSERA_HOST_DEVICE std::size_t voxel(int x, unsigned row) const
  {
    return static_cast<std::size_t>(row) * voxels[0] + x;
  }
};

template <int D>
VoxelGrid voxelGridOf(const AlignedField<D>& field)
{
  VoxelGrid grid{{1, 1, 1}, 1};
  for (int d = 0; d < D; ++d)
    grid.voxels[d] = field.axes[d].voxels;
  grid.rows = static_cast<unsigned>(grid.voxels[1]) * static_cast<unsigned>(grid.voxels[2]);
  return grid;
}

/// Calls work(x, row) for every voxel. A row has at least a warp if the lattice is that wide.
template <class Work>
__global__ void __launch_bounds__(256) forEachVoxelKernel(const __grid_constant__ Work work)
{
  const unsigned blocksAlongX = (work.lattice.voxels[0] + blockDim.x - 1) / blockDim.x;
  const int x = static_cast<int>(blockIdx.x % blocksAlongX * blockDim.x + threadIdx.x);
  const unsigned row = blockIdx.x / blocksAlongX * blockDim.y + threadIdx.y;
  if (x < work.lattice.voxels[0] && row < work.lattice.rows)
    work(x, row);
}

template <class Work>
void launchForEachVoxel(const Context& context, const Work& work, const char* name)
{
  unsigned width = 1;
  while (width < 32 && width < static_cast<unsigned>(work.lattice.voxels[0]))
    width *= 2;
  const dim3 threads(width, 256 / width);
  const unsigned blocks =
      ceilDiv<unsigned>(work.lattice.voxels[0], threads.x) * ceilDiv<unsigned>(work.lattice.rows, threads.y);
  tellLaunch(forEachVoxelKernel<Work>, blocks, threads);
  forEachVoxelKernel<<<blocks, threads, 0, cudaStreamOf(context)>>>(work);
  checkLaunch(name);
}

}
