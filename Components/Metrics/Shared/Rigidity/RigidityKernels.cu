#include "Components/Metrics/Shared/Rigidity/RigidityKernels.h"

#include "Components/Transforms/Shared/OnCuda/TransformOnCuda.cuh"
#include "Core/Compute/Cuda/Reduction.cuh"
#include "Core/Image/Image.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr int threads = 128;

template <int D>
constexpr int neighboursOf = D == 3 ? 27 : 9;

template <int D>
struct GridPlace {
  int index[D];

  __device__ GridPlace(const RigidityGrid<D>& grid, int point)
  {
#pragma unroll
    for (int d = 0; d < D; ++d) {
      index[d] = point % grid.size[d];
      point /= grid.size[d];
    }
  }
};

/// The offset of a neighbour along an axis, 0 to 2.
__host__ __device__ constexpr int offsetOf(int neighbour, int axis)
{
  return axis == 0 ? neighbour % 3 : axis == 1 ? neighbour / 3 % 3 : neighbour / 9;
}

template <int D>
__device__ double rigidityAt(const RigidityOfPoints<D>& rigidity, const RigidityGrid<D>& grid,
                             const TransformOnCuda<D>& transform, int point)
{
  const double ofPoint = rigidity.ofControlPoints[point];
  if (rigidity.movingVoxels == nullptr)
    return ofPoint;
  const GridPlace<D> place(grid, point);
  Vec<D> index;
#pragma unroll
  for (int d = 0; d < D; ++d)
    index[d] = place.index[d];
  const Vec<D> mappedMm = mapPoint<D>(transform, rigidity.pointFromIndex(index));
  std::size_t voxel;
  if (!findNearestVoxel<D>(rigidity.movingSize, rigidity.movingIndex(mappedMm), voxel))
    return ofPoint;
  return fmax(ofPoint, static_cast<double>(rigidity.movingVoxels[voxel]));
}

/// One control point a thread:
///
///   filtered[k][f] = factor_f * sum over 3^D neighbours of taps_f * coefficient of component k
///   terms and covectors by RigidityAtPoint, times the rigidity of the point
template <int D>
__global__ void __launch_bounds__(threads)
    sumConditions(const __grid_constant__ RigidityGrid<D> grid,
                  const __grid_constant__ RigidityOfPoints<D> rigidity,
                  const __grid_constant__ TransformOnCuda<D> transform, double* scratch, double* covectors,
                  RigidityResult* result)
{
  constexpr int filters = rigidityFilters<D>, arrays = rigidityCovectors<D>;
  const int points = grid.pointCount();
  double sums[rigidity::conditions + 1] = {};
  for (int point = blockIdx.x * threads + threadIdx.x; point < points; point += gridDim.x * threads) {
    const GridPlace<D> place(grid, point);
    double filtered[D][filters] = {};
#pragma unroll
    for (int n = 0; n < neighboursOf<D>; ++n) {
      int from = 0, stride = 1;
#pragma unroll
      for (int d = 0; d < D; ++d) {
        from += stride * min(max(place.index[d] + offsetOf(n, d) - 1, 0), grid.size[d] - 1);
        stride *= grid.size[d];
      }
#pragma unroll
      for (int k = 0; k < D; ++k) {
        const double coefficient =
            __ldg(transform.coefficients + static_cast<std::size_t>(k) * points + from);
#pragma unroll
        for (int f = 0; f < filters; ++f) {
          double tap = 1;
#pragma unroll
          for (int d = 0; d < D; ++d)
            tap *= rigidityTap(derivativesAlong<D>(f, d), offsetOf(n, d));
          filtered[k][f] = fma(tap, coefficient, filtered[k][f]);
        }
      }
    }
#pragma unroll
    for (int k = 0; k < D; ++k) {
#pragma unroll
      for (int f = 0; f < filters; ++f)
        filtered[k][f] *= grid.factors[f];
    }
    const RigidityAtPoint<D> at(filtered, grid);
    const double here = rigidityAt<D>(rigidity, grid, transform, point);
#pragma unroll
    for (int c = 0; c < rigidity::conditions; ++c)
      sums[c] += here * at.terms[c];
    sums[rigidity::conditions] += here;
    if (covectors) {
#pragma unroll
      for (int k = 0; k < D; ++k) {
#pragma unroll
        for (int c = 0; c < arrays; ++c)
          covectors[static_cast<std::size_t>(k * arrays + c) * points + point] =
              here * grid.factors[filterOfCovector<D>(c)] * at.covectors[k][c];
      }
    }
  }
  addGridSums(sums, scratch, &result->blocksDone, result->sums.ofPoints);
}

/// The adjoint of the filters, one component of a control point a thread:
///
///   gradient[k][p] = sum over conditions c of weight_c / sum of rigidity
///                    * sum over covectors of c and 3^D neighbours q of taps(from p to q) * covector[k][q]
///
/// It reads 3^D rigidityCovectors doubles from the caches, and writes one.
template <int D>
__global__ void __launch_bounds__(threads)
    pullBackConditions(const __grid_constant__ RigidityGrid<D> grid,
                       const std::array<double, rigidity::conditions> weights, const double* covectors,
                       double* scratch, RigidityResult* result, double* gradient)
{
  constexpr int arrays = rigidityCovectors<D>;
  const int points = grid.pointCount();
  const double perRigidity = isRigidAnywhere(result->sums) ? 1 / result->sums.ofRigidity() : 0;
  double squares[rigidity::conditions] = {};
  for (int i = blockIdx.x * threads + threadIdx.x; i < D * points; i += gridDim.x * threads) {
    const int component = i / points;
    const GridPlace<D> place(grid, i % points);
    const double* const ofComponent = covectors + static_cast<std::size_t>(component) * arrays * points;
    double taps[D][3][3]; // [axis][derivatives][offset]
#pragma unroll
    for (int d = 0; d < D; ++d) {
#pragma unroll
      for (int offset = 0; offset < 3; ++offset) {
        const int at = place.index[d] + offset - 1;
        const bool exists = at >= 0 && at < grid.size[d];
#pragma unroll
        for (int derivatives = 0; derivatives < 3; ++derivatives)
          taps[d][derivatives][offset] = exists ? tapFrom(derivatives, place.index[d], at, grid.size[d]) : 0;
      }
    }
    double ofConditions[rigidity::conditions] = {};
#pragma unroll
    for (int n = 0; n < neighboursOf<D>; ++n) {
      int at = 0, stride = 1;
#pragma unroll
      for (int d = 0; d < D; ++d) { // a neighbour that does not exist has no taps
        at += stride * min(max(place.index[d] + offsetOf(n, d) - 1, 0), grid.size[d] - 1);
        stride *= grid.size[d];
      }
#pragma unroll
      for (int c = 0; c < arrays; ++c) {
        double tap = 1;
#pragma unroll
        for (int d = 0; d < D; ++d)
          tap *= taps[d][derivativesAlong<D>(filterOfCovector<D>(c), d)][offsetOf(n, d)];
        ofConditions[conditionOfCovector<D>(c)] =
            fma(tap, __ldg(ofComponent + static_cast<std::size_t>(c) * points + at),
                ofConditions[conditionOfCovector<D>(c)]);
      }
    }
    double slope = 0;
#pragma unroll
    for (int c = 0; c < rigidity::conditions; ++c) {
      const double ofCondition = weights[c] * perRigidity * ofConditions[c];
      squares[c] += ofCondition * ofCondition;
      slope += ofCondition;
    }
    gradient[i] = slope;
  }
  addGridSums(squares, scratch, &result->blocksDone, result->sums.squares);
}

unsigned blocksFor(int items)
{
  return static_cast<unsigned>(
      std::min<std::size_t>(ceilDiv(items, threads), maxRigidityWarps / (threads / 32)));
}

}

template <int D>
void sumRigidityOnCuda(Context& context, const RigidityGrid<D>& grid, const RigidityOfPoints<D>& rigidity,
                       const TransformOnCuda<D>& transform, double* scratch, double* covectors,
                       RigidityResult* result)
{
  sumConditions<D><<<blocksFor(grid.pointCount()), threads, 0, cudaStreamOf(context)>>>(
      grid, rigidity, transform, scratch, covectors, result);
  checkLaunch("rigidity penalty");
}

template <int D>
void pullBackRigidityOnCuda(Context& context, const RigidityGrid<D>& grid,
                            const std::array<double, rigidity::conditions>& weights, const double* covectors,
                            double* scratch, RigidityResult* result, double* gradient)
{
  pullBackConditions<D><<<blocksFor(D * grid.pointCount()), threads, 0, cudaStreamOf(context)>>>(
      grid, weights, covectors, scratch, result, gradient);
  checkLaunch("gradient of the rigidity penalty");
}

TESSERA_INSTANTIATE_FUNCTIONS(sumRigidityOnCuda<D>, pullBackRigidityOnCuda<D>);

}
