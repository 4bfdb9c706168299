#include "Components/Resamplers/ResamplingKernels.cuh"

#include <cmath>

namespace tessera {
namespace {

using namespace resampling;

constexpr int threadsABlock = 256, rowsAThread = 16;

template <int D, Interpolation Kind>
__global__ void __launch_bounds__(threadsABlock, orderOf(Kind) < 2 ? 6 : 4)
    resampleLinear(const __grid_constant__ LatticeToResample<D> r, const __grid_constant__ FixedPointMap<D> map)
{
  RowsOfThread<D> mine(r, rowsAThread);
  long long index[D], step[D];
  indexAt<D>(map, mine.voxel, index);
#pragma unroll
  for (int d = 0; d < D; ++d)
    step[d] = map.step[d][1] * blockDim.y;
  for (int row = 0; row < mine.rows; ++row) {
    resampleInCell<D, Kind>(r, cellAt<D>(index), mine.to);
    mine.to += mine.stride;
#pragma unroll
    for (int d = 0; d < D; ++d)
      index[d] += step[d];
  }
}

/// Lanes of a warp along x, unless they would cross many rows of the moving image: then 8 of them, on 4 rows.
template <int D>
dim3 threadsFor(const FixedPointMap<D>& map)
{
  const auto rowsCrossed = [&](int axis) {
    double rows = 0;
    for (int d = 1; d < D; ++d)
      rows += std::abs(static_cast<double>(map.step[d][axis])) / 4294967296.0;
    return rows;
  };
  const double inLine = 31 * rowsCrossed(0), inPatch = 7 * rowsCrossed(0) + 3 * rowsCrossed(1);
  return inLine > inPatch ? dim3(8, 32) : dim3(64, 4);
}

}

template <int D>
void resampleLinearly(Context& context, const LatticeToResample<D>& r, const FixedPointMap<D>& index)
{
  withInterpolation(r.image, [&]<Interpolation Kind>() {
    const dim3 threads = threadsFor(index);
    resampleLinear<D, Kind><<<blocksFor(r, threads, rowsAThread), threads, 0, cudaStreamOf(context)>>>(r, index);
  });
  checkLaunch("resampling by a linear map");
}

template void resampleLinearly<2>(Context&, const LatticeToResample<2>&, const FixedPointMap<2>&);
template void resampleLinearly<3>(Context&, const LatticeToResample<3>&, const FixedPointMap<3>&);

}
