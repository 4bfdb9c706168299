#include "Components/Resamplers/Shared/OrderedFloats.cuh"
#include "Components/Resamplers/Shared/ResamplingKernels.cuh"

namespace tessera {
namespace {

using namespace resampling;

constexpr int threadsOfBlock = 32 * warpsOfSplineBlock, lanesOfLine = 16;

/// Bound of the rounding error of a displacement, relative to its length.
constexpr float slackOfHull = 0x1p-18f;

/// Bounds of a B-spline's displacements: a displacement lies in the convex hull of its control points.
template <int D>
struct Hull {
  float lowest[D], highest[D];

  __device__ Hull()
  {
#pragma unroll
    for (int d = 0; d < D; ++d) {
      lowest[d] = HUGE_VALF;
      highest[d] = -HUGE_VALF;
    }
  }
  __device__ __forceinline__ void include(const float (&u)[D])
  {
#pragma unroll
    for (int d = 0; d < D; ++d) {
      lowest[d] = fminf(lowest[d], u[d]);
      highest[d] = fmaxf(highest[d], u[d]);
    }
  }
  /// Joins the bounds of all lanes of the warp.
  __device__ __forceinline__ void joinWarp()
  {
#pragma unroll
    for (int d = 0; d < D; ++d) {
      lowest[d] = smallestOfWarp(lowest[d]);
      highest[d] = -smallestOfWarp(-highest[d]);
    }
  }
};

/// Converts a displacement from mm to voxels of the moving image.
template <int D>
__device__ __forceinline__ void toVoxels(const SplineToResample<D>& s, const float (&mm)[D], float (&u)[D])
{
#pragma unroll
  for (int d = 0; d < D; ++d) {
    u[d] = 0;
#pragma unroll
    for (int e = 0; e < D; ++e)
      u[d] = fmaf(s.indexFromDisplacement[d][e], mm[e], u[d]);
  }
}

/// Where a voxel lies with respect to the valid region of the grid.
enum class Place { inside, outside, unsure };

template <int D>
__device__ __forceinline__ Place placeOf(const SplineToResample<D>& s, const int (&first)[D],
                                         const float (&fraction)[D])
{
  bool inside = true, outside = false;
#pragma unroll
  for (int d = 0; d < D; ++d) {
    const int end = s.points[d] - 3; // number of supports along the axis
    const float fromLow = static_cast<float>(first[d]) + fraction[d];
    const float fromHigh = static_cast<float>(end - first[d]) - fraction[d];
    inside = inside && fminf(fromLow, fromHigh) > s.gridMargin;
    outside = outside || fminf(fromLow, fromHigh) < -s.gridMargin;
  }
  return inside ? Place::inside : outside ? Place::outside : Place::unsure;
}

/// The position of a voxel in the grid.
template <int D>
struct GridPoint {
  int cell[D]; // counted from the first control point in shared memory
  float fraction[D];
  Place place;

  __device__ __forceinline__ GridPoint(const SplineToResample<D>& s, const int (&firstStaged)[D],
                                       const StraightPath<D>& path, const int (&whole)[D], float number,
                                       bool isInside)
  {
    float index[D];
    int first[D];
    path.at(number, index);
#pragma unroll
    for (int d = 0; d < D; ++d) {
      const float rounded = __fadd_rd(index[d], wholeNumbers);
      fraction[d] = index[d] - (rounded - wholeNumbers);
      first[d] = whole[d] + (__float_as_int(rounded) - bitsOfWholeNumbers);
      cell[d] = first[d] - firstStaged[d];
    }
    place = isInside ? Place::inside : placeOf<D>(s, first, fraction);
  }
};

/// The control points that the voxels of a block may need, as displacements in voxels of the moving image, in
/// shared memory: [z][y][x][component], each as a vector with its three next neighbours along x. Beyond the
/// grid the border's control points are repeated.
template <int D>
struct StagedGrid {
  float4* points;
  int first[D], size[3];
  bool isInside; // whether all voxels of the block lie in the valid region of the grid

  __device__ StagedGrid(const SplineToResample<D>& s, const Voxel<D>& middle, float4* shared) : points(shared)
  {
    size[2] = 1;
    isInside = true;
#pragma unroll
    for (int d = 0; d < D; ++d) {
      double index = s.gridIndex.offset[d];
#pragma unroll
      for (int e = 0; e < D; ++e)
        index = fma(s.gridIndex.matrix[d][e], static_cast<double>(middle.index[e]), index);
      const int last = static_cast<int>(floor(index + s.reachOfBlock[d]));
      first[d] = static_cast<int>(floor(index - s.reachOfBlock[d]));
      size[d] = last - first[d] + (d == 0 ? 1 : 4);
      isInside = isInside && first[d] >= 0 && last < s.points[d] - 3;
    }
  }

  /// Loads the control points: reads 4 D bytes of each and writes 16 D. Returns the bounds of those that the
  /// lane has loaded.
  __device__ __forceinline__ Hull<D> load(const SplineToResample<D>& s) const
  {
    const int row = s.points[0], plane = row * s.points[1],
              perComponent = D == 3 ? plane * s.points[D - 1] : plane;
    const int lane = threadIdx.x % lanesOfLine,
              group = threadIdx.y * (32 / lanesOfLine) + threadIdx.x / lanesOfLine;
    constexpr int groups = threadsOfBlock / lanesOfLine, wholeLanes = lanesOfLine - 3;
    const int lines = size[1] * size[2];
    Hull<D> hull;
    for (int firstLine = 0; firstLine < lines; firstLine += groups) { // by all lanes: shuffles need them
      const int line = min(firstLine + group, lines - 1), z = line / size[1], y = line - z * size[1];
      const int lineBegin = repeated(first[1] + y, s.points[1] - 1) * row
                            + (D == 3 ? repeated(first[D - 1] + z, s.points[D - 1] - 1) * plane : 0);
      for (int firstX = 0; firstX < size[0]; firstX += wholeLanes) {
        const float* const from = s.coefficients + (lineBegin + repeated(first[0] + firstX + lane, row - 1));
        float mm[D], u[D];
#pragma unroll
        for (int c = 0; c < D; ++c)
          mm[c] = __ldg(from + c * perComponent);
        toVoxels<D>(s, mm, u);
        hull.include(u);
#pragma unroll
        for (int d = 0; d < D; ++d) {
          float4 four = make_float4(u[d], 0, 0, 0);
          four.y = __shfl_down_sync(~0u, u[d], 1, lanesOfLine);
          four.z = __shfl_down_sync(~0u, u[d], 2, lanesOfLine);
          four.w = __shfl_down_sync(~0u, u[d], 3, lanesOfLine);
          if (lane < wholeLanes && firstX + lane < size[0])
            points[(line * size[0] + firstX + lane) * D + d] = four;
        }
      }
    }
    return hull;
  }

  /// u = sum of c w over the 4^D control points of a cell, for several points in the same cell. Its time is
  /// that of reading 16 D 4^(D-1) bytes of shared memory.
  template <int Points>
  __device__ __forceinline__ void displacements(const int (&cell)[D], const GridPoint<D>* const (&at)[Points],
                                                float (&u)[Points][D]) const
  {
    float x[Points][4], y[Points][4], z[Points][4];
#pragma unroll
    for (int p = 0; p < Points; ++p) {
      knotWeights<3>(at[p]->fraction[0], x[p]);
      knotWeights<3>(at[p]->fraction[1], y[p]);
      knotWeights<3>(at[p]->fraction[D - 1], z[p]);
    }
    const int row = size[0] * D, plane = row * size[1];
    const float4* const corner = points + (cell[0] * D + cell[1] * row + (D == 3 ? cell[D - 1] * plane : 0));
#pragma unroll
    for (int k = 0; k < (D == 3 ? 4 : 1); ++k) {
      float ofPlane[Points][D];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
#pragma unroll
        for (int d = 0; d < D; ++d) {
          const float4 four = corner[j * row + k * plane + d];
#pragma unroll
          for (int p = 0; p < Points; ++p) {
            const float ofRow =
                fmaf(x[p][3], four.w, fmaf(x[p][2], four.z, fmaf(x[p][1], four.y, x[p][0] * four.x)));
            ofPlane[p][d] = j == 0 ? y[p][0] * ofRow : fmaf(y[p][j], ofRow, ofPlane[p][d]);
          }
        }
      }
#pragma unroll
      for (int p = 0; p < Points; ++p) {
#pragma unroll
        for (int d = 0; d < D; ++d)
          u[p][d] = D == 2   ? ofPlane[p][d]
                    : k == 0 ? z[p][0] * ofPlane[p][d]
                             : fmaf(z[p][k], ofPlane[p][d], u[p][d]);
      }
    }
  }
};

template <int D, Interpolation Kind, Asked Asks>
__device__ __forceinline__ void resampleRun(const LatticeToResample<D>& r, const SplineToResample<D>& s,
                                            const Run<D>& run, const StagedGrid<D>& grid,
                                            const IndexMap<D>& map, const MiddleOfRun<D>& middle)
{
  const Window<D> window(r, middle);
  const StraightPath<D> path(map, run, middle);
  const MiddleOfRun<D> middleInGrid(s.gridIndex, run);
  const StraightPath<D> gridPath(s.gridIndex, run, middleInGrid);
  int whole[D]; // origin of gridPath
#pragma unroll
  for (int d = 0; d < D; ++d)
    whole[d] = middleInGrid.wholeOf(d);
  if (!run.isInLattice)
    return;
  const std::ptrdiff_t stride = run.stride(r);
  float* to = run.target(r, run.firstNumber);
  const auto resample = [&](int number, Place place, const float(&u)[D]) {
    float index[D];
    path.at(static_cast<float>(number), index);
#pragma unroll
    for (int d = 0; d < D; ++d)
      index[d] += u[d];
    resampleAt<D, Kind, Asks>(r, window, index, to, place != Place::unsure);
    to = moved(to, stride);
  };
  const auto pointAt = [&](int number) {
    return GridPoint<D>(s, grid.first, gridPath, whole, static_cast<float>(number), Asks == Asked::nothing);
  };
#pragma unroll 1
  for (int number = run.firstNumber; number < run.endNumber;) {
    const GridPoint<D> point = pointAt(number), next = pointAt(number + 1);
    bool together = number + 1 < run.endNumber && point.place == Place::inside && next.place == Place::inside;
#pragma unroll
    for (int d = 0; d < D; ++d)
      together = together && point.cell[d] == next.cell[d];
    if (__any_sync(__activemask(), !together)) { // one path for the warp: divergence would cost both
      float u[1][D] = {};
      if (point.place == Place::inside)
        grid.template displacements<1>(point.cell, {&point}, u);
      resample(number, point.place, u[0]);
      number += 1;
    } else {
      float u[2][D];
      grid.template displacements<2>(point.cell, {&point, &next}, u);
      resample(number, point.place, u[0]);
      resample(number + 1, next.place, u[1]);
      number += 2;
    }
  }
}

/// A chain of linear maps and one cubic B-spline, T(x) = linear(x) + turn u(asked(x)) (OneSplineChain.h). The
/// shared memory holds the control points of a block.
///
///   load the control points that the block's voxels may need, as displacements in voxels of the moving image
///   hull = bounds of these displacements along each axis
///   for each warp's run of voxels: middle, marks and values as in resampleLinear, where
///     the run is certainly outside or inside if linear index + hull is
///     index = linear index + sum over the 4^D control points of c_k w_k, two voxels of a cell at a time
template <int D, Interpolation Kind, Form Which>
__global__ void __launch_bounds__(threadsOfBlock, orderOf(Kind) < 4 ? 3 : 2)
    resampleSpline(const __grid_constant__ LatticeToResample<D> r, const __grid_constant__ IndexMap<D> map,
                   const __grid_constant__ SplineToResample<D> s, const __grid_constant__ RunShape shape)
{
  extern __shared__ float4 shared[];
  __shared__ int lowestOfHull[D], highestOfHull[D]; // bits that compare as the floats do, see ordered()
  const Run<D> run(r, shape);
  Voxel<D> middleOfBlock;
  middleOfBlock.index[0] = run.middle[0];
  if constexpr (D == 3) {
    middleOfBlock.index[1] = run.middle[1] - static_cast<int>(threadIdx.y) + warpsOfSplineBlock / 2;
    middleOfBlock.index[2] = run.middle[2];
  } else {
    middleOfBlock.index[1] =
        run.first + (warpsOfSplineBlock / 2 - static_cast<int>(threadIdx.y)) * shape.voxelsALane();
  }
  const StagedGrid<D> grid(s, middleOfBlock, shared);
  if (threadIdx.y == 0 && threadIdx.x < D) {
    lowestOfHull[threadIdx.x] = ordered(HUGE_VALF);
    highestOfHull[threadIdx.x] = ordered(-HUGE_VALF);
  }
  __syncthreads();
  Hull<D> hull = grid.load(s);
  hull.joinWarp();
  if (threadIdx.x == 0)
#pragma unroll
    for (int d = 0; d < D; ++d) {
      atomicMin(&lowestOfHull[d], ordered(hull.lowest[d]));
      atomicMax(&highestOfHull[d], ordered(hull.highest[d]));
    }
  __syncthreads();
  if (run.isEmpty)
    return;
  const MiddleOfRun<D> middle(map, run);
  const auto resample = [&]<Asked Asks>() { resampleRun<D, Kind, Asks>(r, s, run, grid, map, middle); };
  const float low = fromOrdered(lowestOfHull[middle.axis]), high = fromOrdered(highestOfHull[middle.axis]);
  const float reach = fmaf(slackOfHull, fmaxf(fabsf(low), fabsf(high)), map.reach[middle.axis]);
  // Outside the grid displacements are 0, which the bounds do not include: there each voxel is checked.
  const float lowest = grid.isInside ? middle.fraction + low - reach : -HUGE_VALF;
  const float highest = grid.isInside ? middle.fraction + high + reach : HUGE_VALF;
  resampleWhere<D, Kind, Which>(r, run, middle, lowest, highest, resample);
}

}

template <int D>
void resampleBySpline(Context& context, const LatticeToResample<D>& r, const IndexMap<D>& index,
                      const SplineToResample<D>& s, const RunShape& shape)
{
  const std::size_t bytes = s.bytesOfBlock;
  withForm<D>(r, [&]<Interpolation Kind, Form Which>() {
    checkCuda(cudaFuncSetAttribute(resampleSpline<D, Kind, Which>,
                                   cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
              "shared memory for a B-spline");
    resampleSpline<D, Kind, Which>
        <<<blocksFor(r, shape), threadsOf(shape), bytes, cudaStreamOf(context)>>>(r, index, s, shape);
  });
  checkLaunch("resampling by a B-spline");
}

TESSERA_INSTANTIATE_FUNCTIONS(resampleBySpline<D>);

}
