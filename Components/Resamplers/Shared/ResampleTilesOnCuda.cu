#include "Components/Resamplers/Shared/ResamplingKernels.cuh"
#include "Components/Resamplers/Shared/SplineHull.cuh"
#include "Core/Compute/RegisterArray.cuh"

namespace tessera {
namespace {

using namespace resampling;

/// What the run of a warp needs of the grid, in shared memory: displacements in voxels of the moving image,
/// in 3D contracted along y, [lines][pitch].
struct Staged {
  float4* points;
  int width, pitch;
  int firstLine, firstPoint;
};

/// 64 B read in 3D, 16 in 2D, and 16 written, for each of lines * width points; by patches of 8 x 4.
template <int D>
__device__ __forceinline__ Hull<D> stage(const SplineToResample<D>& s, const SplineVoxel& alongY,
                                         const Staged& staged, int lines)
{
  constexpr int rows = D == 3 ? 4 : 1;
  const int row = s.points[0], perLine = D == 3 ? row * s.points[1] : row, lane = threadIdx.x;
  Hull<D> hull;
  for (int line = lane / 8; line < lines; line += 4) {
#pragma unroll 1 // mostly there is one
    for (int i = lane % 8; i < staged.width; i += 8) {
      const SplinePoint* from =
          s.displacements
          + ((staged.firstLine + line) * perLine + (D == 3 ? alongY.first * row : 0) + staged.firstPoint + i);
      float sum[D] = {}, u[D];
#pragma unroll
      for (int k = 0; k < rows; ++k, from += row) {
        const float4 point = __ldg(reinterpret_cast<const float4*>(from));
        const float components[3] = {point.x, point.y, point.z};
#pragma unroll
        for (int c = 0; c < D; ++c)
          sum[c] = D == 3 ? fmaf(alongY.weights[k], components[c], sum[c]) : components[c];
      }
      toVoxels<D>(s, sum, u);
      staged.points[line * staged.pitch + i] = make_float4(u[0], u[1], D == 3 ? u[D - 1] : 0, 0);
      hull.include(u);
    }
  }
  return hull;
}

/// Numbers from one line to the next, of what the lanes' weights along x make of lines: [lines][D][lanes].
template <int D>
constexpr int pitchOfContracted = 32 * D;

/// The lane's ones, from `to` on, which may be the memory of the points, if they end where that does.
template <int D>
__device__ __forceinline__ void contractAlongX(const Staged& staged, const SplineVoxel& alongX, int lines,
                                               float* to)
{
  const float4* from = staged.points + (alongX.first - staged.firstPoint);
#pragma unroll 1
  for (; lines > 0; --lines, from += staged.pitch, to += pitchOfContracted<D>) {
    float sum[D];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const float4 point = from[k];
      const float components[3] = {point.x, point.y, point.z};
#pragma unroll
      for (int c = 0; c < D; ++c)
        sum[c] = k == 0 ? alongX.weights[0] * components[c] : fmaf(alongX.weights[k], components[c], sum[c]);
    }
    __syncwarp();
#pragma unroll
    for (int c = 0; c < D; ++c)
      to[32 * c] = sum[c];
  }
}

/// An index along a lane's voxels in a cell of the grid, a cubic of their numbers from the first of them on.
template <int D>
struct CubicPath {
  float start[D], linear[D], square[D], cube[D];

  /// `line`: the first of the cell's four, contracted by a sixth of the weights. `cell`: of the first voxel.
  __device__ __forceinline__ CubicPath(const StraightPath<D>& straight, int firstNumber, const float* line,
                                       const SplineVoxel& cell, const SplineToResample<D>& s)
  {
    const float zeroth = cell.inside ? 1 : 0, past = cell.past;
    const float powers[3] = {cell.inside ? s.powersOfStep[0] : 0, cell.inside ? s.powersOfStep[1] : 0,
                             cell.inside ? s.powersOfStep[2] : 0};
    straight.at(static_cast<float>(firstNumber), start);
#pragma unroll
    for (int d = 0; d < D; ++d) {
      constexpr int pitch = pitchOfContracted<D>;
      const float a = line[32 * d], b = line[32 * d + pitch], c = line[32 * d + 2 * pitch],
                  e = line[32 * d + 3 * pitch];
      const float sum = a + c, one = powers[0] * (c - a), two = powers[1] * fmaf(-2.0f, b, sum);
      const float three = powers[2] * fmaf(3.0f, b - c, e - a);
      // Horner's rule, and again for the derivatives: counted not from where the cell begins, but from its
      // first voxel
      const float bend = fmaf(past, three, two), slope = fmaf(past, bend, one),
                  bendAgain = fmaf(past, three, bend);
      start[d] = fmaf(zeroth, fmaf(past, slope, fmaf(4.0f, b, sum)), start[d]);
      linear[d] = straight.step[d] + fmaf(past, bendAgain, slope);
      square[d] = fmaf(past, three, bendAgain);
      cube[d] = three;
    }
  }
  __device__ __forceinline__ void at(float number, float (&index)[D]) const
  {
#pragma unroll
    for (int d = 0; d < D; ++d)
      index[d] = fmaf(fmaf(fmaf(cube[d], number, square[d]), number, linear[d]), number, start[d]);
  }
};

/// `lines`: the lane's, contracted, from `firstLine` of the grid on.
template <int D, Interpolation Kind, Form Which, Asked Asks>
__device__ __forceinline__ void
march(const LatticeToResample<D>& r, const SplineToResample<D>& s, const Run<D>& run, const Window<D>& window,
      const float* lines, int firstLine, const StraightPath<D>& straight, const LaneSpans<D>& spans)
{
  const std::ptrdiff_t stride = run.stride(r);
  float* to = run.target(r, run.firstNumber);
#pragma unroll 1
  for (int v = run.first; v < run.end;) {
    const SplineVoxel cell = s.voxels[D - 1][v];
    const int number = v - run.first;
    v = min(cell.end, run.end);
    const CubicPath<D> path(straight, number, lines + pitchOfContracted<D> * (cell.first - firstLine), cell,
                            s);
    const int begin = max(number, run.firstNumber), end = min(v - run.first, run.endNumber);
    resampleVoxels<D, Kind, Which, Asks>(r, window, path, begin - number, end - number, to, stride,
                                         spans.from(number), run.endNumber - end);
  }
}

/// At once on a multiprocessor, so many that registers hold what the march needs.
constexpr int blocksOfTiles(Interpolation kind, Form form)
{
  return orderOf(kind) < 2 ? (form == Form::careful ? 8 : 10) : orderOf(kind) < 4 ? 7 : 4;
}

/// Shared: bytesOfTile() a warp.
template <int D, Interpolation Kind, Form Which>
__global__ void __launch_bounds__(32 * warpsOfBlock, blocksOfTiles(Kind, Which))
    resampleTiles(const __grid_constant__ LatticeToResample<D> r, const __grid_constant__ IndexMap<D> map,
                  const __grid_constant__ SplineToResample<D> s, const __grid_constant__ RunShape shape,
                  const __grid_constant__ unsigned bytesOfWarp)
{
  extern __shared__ float4 shared[];
  const Run<D> run(r, shape);
  if (run.isEmpty)
    return;
  const SplineVoxel alongX = s.voxels[0][min(run.voxel[0], r.size[0] - 1)];
  const SplineVoxel alongY = s.voxels[1][D == 3 ? run.voxel[1] : 0];
  const SplineVoxel first = s.voxels[D - 1][run.first], last = s.voxels[D - 1][run.end - 1];
  float4* const tile = shared + threadIdx.y * (bytesOfWarp / sizeof(float4));
  Staged staged{tile + (bytesOfWarp / sizeof(float4) - s.mostPoints[0] * s.mostPoints[1]), 0, s.mostPoints[0],
                first.first, __shfl_sync(~0u, alongX.first, 0)};
  staged.width = __shfl_sync(~0u, alongX.first, 31) + 4 - staged.firstPoint;
  const int lines = last.first + 4 - staged.firstLine;
  Hull<D> hull = stage<D>(s, alongY, staged, lines);
  if (!(alongX.inside && first.inside && last.inside)) {
    const float none[D] = {};
    hull.include(none);
  }
  hull.joinWarp();
  __syncwarp();
  float* const contracted = reinterpret_cast<float*>(tile) + threadIdx.x;
  contractAlongX<D>(staged, alongX, lines, contracted);

  hull.widen();
  MiddleOfRun<D> middle(map, run);
  const float low = fromRegisters(hull.lowest, middle.axis), high = fromRegisters(hull.highest, middle.axis);
  middle.countFrom(__float_as_int(fmaf(0.5f, low + high, wholeNumbers)) - bitsOfWholeNumbers);
  const auto resample = [&]<Asked Asks>() {
    const Window<D> window(r, middle);
    const StraightPath<D> straight(map, run, middle);
    LaneSpans<D> spans;
    if constexpr (Asks == Asked::border) {
      float lowest[D],
          highest[D]; // from the lanes that hold the axes, which takes fewer registers than to keep them
#pragma unroll
      for (int d = 0; d < D; ++d) {
        lowest[d] = __shfl_sync(~0u, low, d);
        highest[d] = __shfl_sync(~0u, high, d);
      }
      spans = {straight.start, straight.step,           window,         lowest,
               highest,        beltOfSpans<D, Kind>(r), run.isInLattice};
    }
    if (run.isInLattice)
      march<D, Kind, Which, Asks>(r, s, run, window, contracted, staged.firstLine, straight, spans);
  };
  const float reach = map.reach[middle.axis];
  resampleWhere<D, Kind, Which>(r, run, middle, middle.fraction + low - reach, middle.fraction + high + reach,
                                resample);
}

}

template <int D>
void resampleByTiles(Context& context, const LatticeToResample<D>& r, const IndexMap<D>& index,
                     const SplineToResample<D>& s, const RunShape& shape)
{
  const auto bytes = static_cast<unsigned>(bytesOfTile<D>(s));
  withForm<D, true>(r, [&]<Interpolation Kind, Form Which>() {
    resampleTiles<D, Kind, Which>
        <<<blocksFor(r, shape), threadsOf(shape), shape.warps * bytes, cudaStreamOf(context)>>>(r, index, s,
                                                                                                shape, bytes);
  });
  checkLaunch("resampling by tiles");
}

template void resampleByTiles<2>(Context&, const LatticeToResample<2>&, const IndexMap<2>&,
                                 const SplineToResample<2>&, const RunShape&);
template void resampleByTiles<3>(Context&, const LatticeToResample<3>&, const IndexMap<3>&,
                                 const SplineToResample<3>&, const RunShape&);

}
