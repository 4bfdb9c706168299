#include "Components/Resamplers/ResamplingKernels.cuh"

#include <cmath>

namespace tessera {
namespace {

using namespace resampling;

constexpr int threadsABlock = 256, rowsAThread = 16;

/// From a row of a thread to its next one. Made by the host: the compiler would multiply again in every row.
template <int D>
struct RowStep {
  long long index[D];
  std::size_t voxels;
};

/// Two rows at a time, so that twice as many loads are under way.
template <int D, Interpolation Kind>
__global__ void __launch_bounds__(threadsABlock, orderOf(Kind) < 2 ? 5 : 4)
    resampleLinear(const __grid_constant__ LatticeToResample<D> r, const __grid_constant__ FixedPointMap<D> map,
                   const __grid_constant__ RowStep<D> step)
{
  constexpr int Order = orderOf(Kind);
  constexpr bool inPairs = Order < 2 && Kind != Interpolation::labelMajority;
  const RowsOfThread<D> mine(r, rowsAThread);
  long long index[D];
  indexAt<D>(map, mine.voxel, index);
  const auto nextCell = [&] {
    const SplineCell<D> cell = cellAt<D>(index);
#pragma unroll
    for (int d = 0; d < D; ++d)
      index[d] += step.index[d];
    return cell;
  };
  float* to = mine.to;
  int row = 0;
  if constexpr (inPairs)
    for (; row + 1 < mine.rows; row += 2, to += 2 * step.voxels) {
      const SplineCell<D> first = nextCell(), second = nextCell();
      if (isInner<D, Order>(r, first) && isInner<D, Order>(r, second) && r.valid.voxels == nullptr) {
        const float a = valueInside<D, Order>(r.image, first), b = valueInside<D, Order>(r.image, second);
        to[0] = a;
        to[step.voxels] = b;
      } else {
        resampleInCell<D, Kind>(r, first, to);
        resampleInCell<D, Kind>(r, second, to + step.voxels);
      }
    }
  for (; row < mine.rows; ++row, to += step.voxels)
    resampleInCell<D, Kind>(r, nextCell(), to);
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
  const dim3 threads = threadsFor(index);
  RowStep<D> step;
  for (int d = 0; d < D; ++d)
    step.index[d] = index.step[d][1] * threads.y;
  step.voxels = static_cast<std::size_t>(r.size[0]) * threads.y;
  withInterpolation(r.image, [&]<Interpolation Kind>() {
    resampleLinear<D, Kind><<<blocksFor(r, threads, rowsAThread), threads, 0, cudaStreamOf(context)>>>(r, index, step);
  });
  checkLaunch("resampling by a linear map");
}

template void resampleLinearly<2>(Context&, const LatticeToResample<2>&, const FixedPointMap<2>&);
template void resampleLinearly<3>(Context&, const LatticeToResample<3>&, const FixedPointMap<3>&);

}
