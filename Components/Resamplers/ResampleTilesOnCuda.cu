#include "Components/Resamplers/ResamplingKernels.cuh"
#include "Components/Resamplers/SplineHull.cuh"
#include "Core/Compute/RegisterArray.cuh"

namespace tessera {
namespace {

using namespace resampling;

/// What the run of a warp needs of the grid, in shared memory: displacements in voxels of the moving image, in 3D contracted
/// along y, [lines][width].
struct Staged {
  float4* points;
  int width;
  int firstLine, firstPoint;
};

/// D * 4 coefficients read, and 16 bytes written, for each of lines * width points; by patches of 8 x 4.
template <int D>
__device__ __forceinline__ Hull<D> stage(const SplineToResample<D>& s, const SplineVoxel& alongY, const Staged& staged, int lines)
{
  constexpr int rows = D == 3 ? 4 : 1;
  const int row = s.points[0], plane = row * s.points[1], lane = threadIdx.x;
  const int perComponent = D == 3 ? plane * s.points[D - 1] : plane, perLine = D == 3 ? plane : row;
  Hull<D> hull;
  for (int line = lane / 8; line < lines; line += 4)
    for (int i = lane % 8; i < staged.width; i += 8) {
      const float* from =
          s.coefficients + ((staged.firstLine + line) * perLine + (D == 3 ? alongY.first * row : 0) + staged.firstPoint + i);
      float sum[D] = {}, u[D];
#pragma unroll
      for (int c = 0; c < D; ++c, from += perComponent)
#pragma unroll
        for (int k = 0; k < rows; ++k)
          sum[c] = D == 3 ? fmaf(alongY.weights[k], __ldg(from + k * row), sum[c]) : __ldg(from);
      toVoxels<D>(s, sum, u);
      staged.points[line * staged.width + i] = make_float4(u[0], u[1], D == 3 ? u[D - 1] : 0, 0);
      hull.include(u);
    }
  return hull;
}

/// An index along a lane's voxels in a cell of the grid, a cubic of their numbers from the first of them on.
template <int D>
struct CubicPath {
  float start[D], linear[D], square[D] = {}, cube[D] = {};

  __device__ __forceinline__ CubicPath(const StraightPath<D>& straight, int firstNumber)
  {
    straight.at(static_cast<float>(firstNumber), start);
#pragma unroll
    for (int d = 0; d < D; ++d)
      linear[d] = straight.step[d];
  }
  /// `ring`: of the cell's four lines of control points, what the lane's weights along x make of them. The first voxel is at t, of
  /// the cell; the next is `step` further.
  __device__ __forceinline__ void add(const float (&ring)[4][D], float t, float step)
  {
#pragma unroll
    for (int d = 0; d < D; ++d) {
      const float a = ring[0][d], b = ring[1][d], c = ring[2][d], e = ring[3][d];
      const float one = 0.5f * (c - a), two = fmaf(0.5f, a + c, -b), three = fmaf(0.5f, b - c, (1.0f / 6) * (e - a));
      start[d] += fmaf(fmaf(fmaf(three, t, two), t, one), t, fmaf(2.0f / 3, b, (1.0f / 6) * (a + c)));
      linear[d] = fmaf(fmaf(fmaf(3 * three, t, 2 * two), t, one), step, linear[d]);
      square[d] = fmaf(3 * three, t, two) * (step * step);
      cube[d] = three * (step * step * step);
    }
  }
  __device__ __forceinline__ void at(float number, float (&index)[D]) const
  {
#pragma unroll
    for (int d = 0; d < D; ++d)
      index[d] = fmaf(fmaf(fmaf(cube[d], number, square[d]), number, linear[d]), number, start[d]);
  }
};

template <int D>
__device__ __forceinline__ void contractAlongX(const float4* from, const SplineVoxel& alongX, float (&sum)[D])
{
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float4 point = from[k];
    const float components[3] = {point.x, point.y, point.z};
#pragma unroll
    for (int c = 0; c < D; ++c)
      sum[c] = k == 0 ? alongX.weights[0] * components[c] : fmaf(alongX.weights[k], components[c], sum[c]);
  }
}

template <int D, Interpolation Kind, Form Which, Asked Asks>
__device__ __forceinline__ void march(const LatticeToResample<D>& r, const SplineToResample<D>& s, const Run<D>& run,
                                      const Window<D>& window, const Staged& staged, const SplineVoxel& alongX,
                                      const StraightPath<D>& straight, const LaneSpans<D>& spans)
{
  const float4* line = staged.points + (alongX.first - staged.firstPoint);
  float ring[4][D];
#pragma unroll
  for (int k = 1; k < 4; ++k, line += staged.width)
    contractAlongX<D>(line, alongX, ring[k]);
  int next = staged.firstLine; // the first line of the next cell
  const std::ptrdiff_t stride = run.stride(r);
  float* to = run.target(r, run.firstNumber);
  for (int v = run.first; v < run.end;) {
    const SplineVoxel cell = s.voxels[D - 1][v];
#pragma unroll 1
    while (cell.first >= next) {
#pragma unroll
      for (int d = 0; d < D; ++d) {
        ring[0][d] = ring[1][d];
        ring[1][d] = ring[2][d];
        ring[2][d] = ring[3][d];
      }
      contractAlongX<D>(line, alongX, ring[3]);
      line += staged.width;
      ++next;
    }
    const int number = v - run.first;
    v = min(cell.end, run.end);
    CubicPath<D> path(straight, number);
    if (cell.inside)
      path.add(ring, cell.fraction, s.stepOfLayer);
    const int begin = max(number, run.firstNumber), end = min(v - run.first, run.endNumber);
    resampleVoxels<D, Kind, Which, Asks>(r, window, path, begin - number, end - number, to, stride, spans.from(number),
                                         run.endNumber - end);
  }
}

/// Shared: lines * width * 16 bytes a warp.
template <int D, Interpolation Kind, Form Which>
__global__ void __launch_bounds__(32 * warpsOfBlock, orderOf(Kind) < 2   ? 8
                                                     : orderOf(Kind) < 4 ? 7
                                                                         : 4)
    resampleTiles(const __grid_constant__ LatticeToResample<D> r, const __grid_constant__ IndexMap<D> map,
                  const __grid_constant__ SplineToResample<D> s, const __grid_constant__ RunShape shape)
{
  extern __shared__ float4 shared[];
  const Run<D> run(r, shape);
  if (run.isEmpty)
    return;
  const SplineVoxel alongX = s.voxels[0][min(run.voxel[0], r.size[0] - 1)];
  const SplineVoxel alongY = s.voxels[1][D == 3 ? run.voxel[1] : 0];
  const SplineVoxel first = s.voxels[D - 1][run.first], last = s.voxels[D - 1][run.end - 1];
  Staged staged{shared + threadIdx.y * (s.mostPoints[0] * s.mostPoints[1]), 0, first.first, __shfl_sync(~0u, alongX.first, 0)};
  staged.width = __shfl_sync(~0u, alongX.first, 31) + 4 - staged.firstPoint;
  Hull<D> hull = stage<D>(s, alongY, staged, last.first + 4 - staged.firstLine);
  if (!(alongX.inside && first.inside && last.inside)) {
    const float none[D] = {};
    hull.include(none);
  }
  hull.joinWarp();
  __syncwarp();

  hull.widen();
  MiddleOfRun<D> middle(map, run);
  const float low = fromRegisters(hull.lowest, middle.axis), high = fromRegisters(hull.highest, middle.axis);
  middle.countFrom(__float_as_int(fmaf(0.5f, low + high, wholeNumbers)) - bitsOfWholeNumbers);
  const auto resample = [&]<Asked Asks>() {
    const Window<D> window(r, middle);
    const StraightPath<D> straight(map, run, middle);
    LaneSpans<D> spans;
    if constexpr (Asks == Asked::border) {
      float lowest[D], highest[D]; // from the lanes that hold the axes, which takes fewer registers than to keep them
#pragma unroll
      for (int d = 0; d < D; ++d) {
        lowest[d] = __shfl_sync(~0u, low, d);
        highest[d] = __shfl_sync(~0u, high, d);
      }
      spans = {straight.start, straight.step, window, lowest, highest, beltOfSpans<D, Kind>(r), run.isInLattice};
    }
    if (run.isInLattice)
      march<D, Kind, Which, Asks>(r, s, run, window, staged, alongX, straight, spans);
  };
  const float reach = map.reach[middle.axis];
  resampleWhere<D, Kind, Which>(r, run, middle, middle.fraction + low - reach, middle.fraction + high + reach, resample);
}

}

template <int D>
void resampleByTiles(Context& context, const LatticeToResample<D>& r, const IndexMap<D>& index, const SplineToResample<D>& s,
                     const RunShape& shape)
{
  const std::size_t bytes = shape.warps * s.mostPoints[0] * s.mostPoints[1] * sizeof(float4);
  withForm<D, true>(r, [&]<Interpolation Kind, Form Which>() {
    resampleTiles<D, Kind, Which><<<blocksFor(r, shape), threadsOf(shape), bytes, cudaStreamOf(context)>>>(r, index, s, shape);
  });
  checkLaunch("resampling by tiles");
}

template void resampleByTiles<2>(Context&, const LatticeToResample<2>&, const IndexMap<2>&, const SplineToResample<2>&,
                                 const RunShape&);
template void resampleByTiles<3>(Context&, const LatticeToResample<3>&, const IndexMap<3>&, const SplineToResample<3>&,
                                 const RunShape&);

}
