#include "Components/Resamplers/ResamplingKernels.cuh"

namespace tessera {
namespace {

using namespace resampling;

constexpr int threadsABlock = 256, rowsAThread = 8;

enum class Place { inside, outside, unsure }; // of the grid's valid region

template <int D>
__device__ __forceinline__ Place placeOf(const SplineToResample<D>& s, const SplineCell<D>& cell)
{
  bool inside = true, outside = false;
#pragma unroll
  for (int d = 0; d < D; ++d) {
    const int end = s.points[d] - 3; // beginnings of supports
    const float fromLow = static_cast<float>(cell.first[d]) + cell.fraction[d];
    const float fromHigh = static_cast<float>(end - cell.first[d]) - cell.fraction[d];
    inside = inside && fminf(fromLow, fromHigh) > s.gridMargin;
    outside = outside || fminf(fromLow, fromHigh) < -s.gridMargin;
  }
  return inside ? Place::inside : outside ? Place::outside : Place::unsure;
}

/// sum of c w over the 4^D control points of a cell, mm. Reads 4 D 4^D bytes, from the caches.
template <int D>
__device__ __forceinline__ void displacementIn(const SplineToResample<D>& s, const SplineCell<D>& cell, float (&u)[D])
{
  const int row = s.points[0], plane = D == 3 ? row * s.points[1] : 0;
  const int perComponent = D == 3 ? plane * s.points[D - 1] : row * s.points[1];
  const float* corner = s.coefficients + (cell.first[0] + cell.first[1] * row + (D == 3 ? cell.first[D - 1] * plane : 0));
  float x[4], y[4], z[4];
  knotWeights<3>(cell.fraction[0], x);
  knotWeights<3>(cell.fraction[1], y);
  knotWeights<3>(cell.fraction[D - 1], z);
#pragma unroll
  for (int c = 0; c < D; ++c, corner += perComponent) {
    u[c] = 0;
#pragma unroll
    for (int k = 0; k < (D == 3 ? 4 : 1); ++k) {
      float ofPlane = 0;
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float* const start = corner + (j * row + k * plane);
        float ofRow = x[0] * __ldg(start);
#pragma unroll
        for (int i = 1; i < 4; ++i)
          ofRow = fmaf(x[i], __ldg(start + i), ofRow);
        ofPlane = fmaf(y[j], ofRow, ofPlane);
      }
      u[c] = D == 3 ? fmaf(z[k], ofPlane, u[c]) : ofPlane;
    }
  }
}

template <int D, Interpolation Kind>
__global__ void __launch_bounds__(threadsABlock, orderOf(Kind) < 4 ? 3 : 2)
    resampleSpline(const __grid_constant__ LatticeToResample<D> r, const __grid_constant__ FixedPointMap<D> map,
                   const __grid_constant__ SplineToResample<D> s)
{
  RowsOfThread<D> mine(r, rowsAThread);
  long long index[D], gridIndex[D];
  indexAt<D>(map, mine.voxel, index);
  indexAt<D>(s.gridIndex, mine.voxel, gridIndex);
#pragma unroll 1
  for (int row = 0; row < mine.rows; ++row) {
    const SplineCell<D> cell = cellAt<D>(gridIndex);
    const Place place = placeOf<D>(s, cell);
    float u[D] = {}, shift[D];
    if (place == Place::inside)
      displacementIn<D>(s, cell, u);
    shiftBy<D>(s, u, shift);
    resampleInCell<D, Kind>(r, shiftedCell<D>(index, shift), mine.to, place != Place::unsure);
    mine.to += mine.stride;
#pragma unroll
    for (int d = 0; d < D; ++d) {
      index[d] += map.step[d][1] * blockDim.y;
      gridIndex[d] += s.gridIndex.step[d][1] * blockDim.y;
    }
  }
}

}

template <int D>
void resampleBySpline(Context& context, const LatticeToResample<D>& r, const FixedPointMap<D>& index, const SplineToResample<D>& s)
{
  withInterpolation(r.image, [&]<Interpolation Kind>() {
    const dim3 threads(64, 4);
    resampleSpline<D, Kind><<<blocksFor(r, threads, rowsAThread), threads, 0, cudaStreamOf(context)>>>(r, index, s);
  });
  checkLaunch("resampling by a B-spline");
}

template void resampleBySpline<2>(Context&, const LatticeToResample<2>&, const FixedPointMap<2>&, const SplineToResample<2>&);
template void resampleBySpline<3>(Context&, const LatticeToResample<3>&, const FixedPointMap<3>&, const SplineToResample<3>&);

}
