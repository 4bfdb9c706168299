#include "Components/Resamplers/ResamplingKernels.cuh"

namespace tessera {
namespace {

using namespace resampling;

constexpr int threadsABlock = 64, rowsAThread = 8; // consecutive rows
constexpr int together = 2;                        // rows: control points of a cell are read once for those in it

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

template <int D>
__device__ __forceinline__ bool inSameCell(const SplineCell<D>& a, const SplineCell<D>& b)
{
  bool same = true;
#pragma unroll
  for (int d = 0; d < D; ++d)
    same = same && a.first[d] == b.first[d];
  return same;
}

/// sum of c w over the 4^D control points of a cell, at the fractions of all voxels, mm. Reads 4 D 4^D bytes.
template <int D>
__device__ __forceinline__ void sumsInCell(const SplineToResample<D>& s, const SplineCell<D>& cell,
                                           const float (&weights)[together][D][4], float (&u)[together][D])
{
  const int row = s.points[0], plane = D == 3 ? row * s.points[1] : 0;
  const int perComponent = D == 3 ? plane * s.points[D - 1] : row * s.points[1];
  const float* corner = s.coefficients + (cell.first[0] + cell.first[1] * row + (D == 3 ? cell.first[D - 1] * plane : 0));
#pragma unroll
  for (int c = 0; c < D; ++c, corner += perComponent) {
#pragma unroll
    for (int v = 0; v < together; ++v)
      u[v][c] = 0;
#pragma unroll
    for (int k = 0; k < (D == 3 ? 4 : 1); ++k) {
      float ofPlane[together] = {};
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const float* const start = corner + (j * row + k * plane);
        float points[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
          points[i] = __ldg(start + i);
#pragma unroll
        for (int v = 0; v < together; ++v) {
          float ofRow = weights[v][0][0] * points[0];
#pragma unroll
          for (int i = 1; i < 4; ++i)
            ofRow = fmaf(weights[v][0][i], points[i], ofRow);
          ofPlane[v] = fmaf(weights[v][1][j], ofRow, ofPlane[v]);
        }
      }
#pragma unroll
      for (int v = 0; v < together; ++v)
        u[v][c] = D == 3 ? fmaf(weights[v][D - 1][k], ofPlane[v], u[v][c]) : ofPlane[v];
    }
  }
}

/// Displacements of neighbouring rows' voxels, zero outside the grid's valid region. A voxel in another cell than the first takes
/// another round.
template <int D>
__device__ __forceinline__ void displace(const SplineToResample<D>& s, const SplineCell<D> (&cells)[together],
                                         Place (&places)[together], float (&u)[together][D])
{
  float weights[together][D][4];
  bool open[together];
#pragma unroll
  for (int v = 0; v < together; ++v) {
    places[v] = placeOf<D>(s, cells[v]);
    open[v] = places[v] == Place::inside;
#pragma unroll
    for (int d = 0; d < D; ++d) {
      u[v][d] = 0;
      knotWeights<3>(cells[v].fraction[d], weights[v][d]);
    }
  }
#pragma unroll 1
  while (open[0] || open[1]) {
    SplineCell<D> cell;
#pragma unroll
    for (int d = 0; d < D; ++d)
      cell.first[d] = open[0] ? cells[0].first[d] : cells[1].first[d];
    float sums[together][D];
    sumsInCell<D>(s, cell, weights, sums);
#pragma unroll
    for (int v = 0; v < together; ++v) {
      const bool mine = open[v] && inSameCell<D>(cell, cells[v]);
      open[v] = open[v] && !mine;
#pragma unroll
      for (int d = 0; d < D; ++d)
        u[v][d] = mine ? sums[v][d] : u[v][d];
    }
  }
}

template <int D, Interpolation Kind>
__global__ void __launch_bounds__(threadsABlock, 10)
    resampleSpline(const __grid_constant__ LatticeToResample<D> r, const __grid_constant__ FixedPointMap<D> map,
                   const __grid_constant__ SplineToResample<D> s)
{
  RowsOfThread<D> mine(r, rowsAThread);
  long long index[D], gridIndex[D];
  indexAt<D>(map, mine.voxel, index);
  indexAt<D>(s.gridIndex, mine.voxel, gridIndex);
#pragma unroll 1
  for (int row = 0; row < mine.rows; row += together) {
    SplineCell<D> cells[together];
    Place places[together];
    float u[together][D];
#pragma unroll
    for (int v = 0; v < together; ++v) {
      cells[v] = cellAt<D>(gridIndex);
#pragma unroll
      for (int d = 0; d < D; ++d)
        gridIndex[d] += s.gridIndex.step[d][1];
    }
    displace<D>(s, cells, places, u);
#pragma unroll
    for (int v = 0; v < together; ++v) {
      float shift[D] = {};
#pragma unroll
      for (int d = 0; d < D; ++d)
#pragma unroll
        for (int e = 0; e < D; ++e)
          shift[d] = fmaf(s.indexFromDisplacement[d][e], u[v][e], shift[d]);
      if (row + v < mine.rows)
        resampleInCell<D, Kind>(r, shiftedCell<D>(index, shift), mine.to, places[v] != Place::unsure);
      mine.to += mine.stride;
#pragma unroll
      for (int d = 0; d < D; ++d)
        index[d] += map.step[d][1];
    }
  }
}

}

template <int D>
void resampleBySpline(Context& context, const LatticeToResample<D>& r, const FixedPointMap<D>& index, const SplineToResample<D>& s)
{
  withInterpolation(r.image, [&]<Interpolation Kind>() {
    const dim3 threads(threadsABlock, 1);
    resampleSpline<D, Kind><<<blocksFor(r, threads, rowsAThread), threads, 0, cudaStreamOf(context)>>>(r, index, s);
  });
  checkLaunch("resampling by a B-spline");
}

template void resampleBySpline<2>(Context&, const LatticeToResample<2>&, const FixedPointMap<2>&, const SplineToResample<2>&);
template void resampleBySpline<3>(Context&, const LatticeToResample<3>&, const FixedPointMap<3>&, const SplineToResample<3>&);

}
