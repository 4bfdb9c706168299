#include "Components/Resamplers/Shared/ResamplingKernels.cuh"
#include "Components/Transforms/Shared/OnCuda/TransformOnCuda.cuh"

#include <algorithm>

namespace tessera {
namespace {

using namespace resampling;

constexpr int threadsABlock = 128;

template <int D>
__device__ Vec<D> pointOf(const LatticeToResample<D>& r, const Voxel<D>& voxel)
{
  Vec<D> pointMm;
#pragma unroll
  for (int axis = 0; axis < D; ++axis) { // in the CPU's order of additions
    double sum = r.pointFromIndex.offset[axis];
#pragma unroll
    for (int d = 0; d < D; ++d)
      sum += r.pointFromIndex.matrix[axis][d] * voxel.index[d];
    pointMm[axis] = sum;
  }
  return pointMm;
}

/// The point inside the image whose value an extrapolated point outside gets.
template <int D>
__device__ __noinline__ Vec<D> standIn(const LatticeToResample<D>& r, Vec<D> mappedMm)
{
  Vec<D> index = r.image.pointToIndex(mappedMm);
  bool moves = false;
#pragma unroll
  for (int d = 0; d < D; ++d) {
    const double last = r.image.size[d] - 1;
    const double inside = r.extrapolation == Extrapolation::nearest
                              ? broughtInside<Extrapolation::nearest>(index[d], last)
                              : broughtInside<Extrapolation::mirror>(index[d], last);
    moves = moves || inside != index[d];
    index[d] = inside;
  }
  return moves ? r.pointFromImageIndex(index) : mappedMm;
}

/// T(x). A call, so that it is compiled once for all interpolations.
template <int D>
__device__ __noinline__ Vec<D> mapped(const LatticeToResample<D>& r, Voxel<D> voxel)
{
  if (r.mappedMm != nullptr) {
    std::size_t count = 1, offset = 0;
    Vec<D> mappedMm;
#pragma unroll
    for (int d = 0; d < D; ++d) {
      const bool isLast = d == D - 1;
      offset += count * static_cast<std::size_t>(voxel.index[d] - (isLast ? r.firstSlice : 0));
      count *= static_cast<std::size_t>(isLast ? r.endSlice - r.firstSlice : r.size[d]);
    }
#pragma unroll
    for (int d = 0; d < D; ++d)
      mappedMm[d] = r.mappedMm[d * count + offset];
    return mappedMm;
  }
  return mapChain<D>(r.chain, pointOf(r, voxel));
}

/// The value of a voxel by the CPU's expressions.
template <int D, Interpolation Kind>
__device__ float valueByPoint(const LatticeToResample<D>& r, const Voxel<D>& voxel)
{
  Vec<D> mappedMm = mapped<D>(r, voxel);
  if (r.extrapolation != Extrapolation::constant)
    mappedMm = standIn<D>(r, mappedMm);
  const Vec<D> index = r.image.pointToIndex(mappedMm);
  if (!isInside<D>(r.image, index) || !r.valid.contains(mappedMm))
    return r.outside;
  if constexpr (Kind == Interpolation::labelMajority) {
    SplineCell<D> cell;
    float corners[1 << D];
    double fraction[D];
#pragma unroll
    for (int d = 0; d < D; ++d) {
      const double floored = floor(index[d]);
      cell.first[d] = static_cast<int>(floored);
      fraction[d] = index[d] - floored;
    }
    readCorners<D>(r.image, cell, corners);
    return majorityLabel<D>(corners, fraction);
  } else if constexpr (orderOf(Kind) < 2) {
    float value, unused[D];
    valueAtIndex<D, orderOf(Kind)>(r.image, index, false, value, unused);
    return value;
  } else {
    const SplineCell<D> cell = cellOf<D, orderOf(Kind)>(r.image, index);
    return cell.interior ? valueInside<D, orderOf(Kind)>(r.image, cell)
                         : splineAtBorder<D, orderOf(Kind)>(r.image, cell);
  }
}

template <int D, Interpolation Kind>
__global__ void __launch_bounds__(32 * warpsOfBlock)
    resamplePoints(const __grid_constant__ LatticeToResample<D> r, RunShape shape)
{
  const Run<D> run(r, shape);
  if (run.isEmpty || !run.isInLattice || run.firstNumber >= run.endNumber)
    return;
  Voxel<D> voxel;
#pragma unroll
  for (int d = 0; d < D; ++d)
    voxel.index[d] = run.voxel[d];
  *run.target(r, run.firstNumber) = valueByPoint<D, Kind>(r, voxel);
}

/// The position of the n-th bit that is set, counted from 0, in a word with more than n such bits.
__device__ __forceinline__ int placeOfBit(unsigned word, int n)
{
  for (; n > 0; --n)
    word &= word - 1;
  return __ffs(word) - 1;
}

/// Computes the voxels that are marked in 32 words, one held by each lane of a warp: words from `firstWord`
/// on, `step` apart. The voxels are spread evenly over the lanes.
template <int D, Interpolation Kind>
__device__ __forceinline__ void resampleMarked(const LatticeToResample<D>& r, unsigned word,
                                               unsigned long long firstWord, int step)
{
  const int lane = threadIdx.x % 32;
  int before = __popc(word); // becomes the number of bits in the words up to and with the lane's
  for (int offset = 1; offset < 32; offset *= 2) {
    const int lower = __shfl_up_sync(~0u, before, offset);
    before += lane >= offset ? lower : 0;
  }
  const int total = __shfl_sync(~0u, before, 31);
  for (int first = 0; first < total; first += 32) {
    const int wanted = first + lane;
    int in = 0; // becomes the first word whose `before` is larger than `wanted`
    for (int half = 16; half > 0; half /= 2)
      in += __shfl_sync(~0u, before, in + half - 1) <= wanted ? half : 0;
    const unsigned bits = __shfl_sync(~0u, word, in & 31);
    const int upTo = __shfl_sync(~0u, before, in & 31);
    if (wanted >= total)
      continue;
    const unsigned long long offset =
        (firstWord + in * step) * 32 + placeOfBit(bits, wanted - (upTo - __popc(bits)));
    Voxel<D> voxel;
    unsigned long long rest = offset;
#pragma unroll
    for (int d = 0; d < D; ++d) {
      voxel.index[d] = static_cast<int>(d == D - 1 ? rest : rest % r.size[d]);
      rest /= r.size[d];
    }
    voxel.index[D - 1] += r.firstSlice;
    r.voxels[offset] = valueByPoint<D, Kind>(r, voxel);
  }
}

constexpr int wordsALane = 4;

/// Computes the marked voxels again by T(x) and the CPU's expressions, in double precision. Each warp reads
/// 128 words of marks at a time and spreads the marked voxels over its lanes. Traffic: one bit a voxel is
/// read.
template <int D, Interpolation Kind>
__global__ void __launch_bounds__(threadsABlock)
    resampleUnsure(const __grid_constant__ LatticeToResample<D> r, unsigned long long words)
{
  const unsigned long long threads = gridDim.x * static_cast<unsigned long long>(threadsABlock),
                           lane = threadIdx.x % 32;
  const uint4* const marks = reinterpret_cast<const uint4*>(r.unsure);
  for (unsigned long long first =
           blockIdx.x * static_cast<unsigned long long>(threadsABlock) + threadIdx.x - lane;
       first * wordsALane < words; first += threads) {
    const uint4 four = (first + lane) * wordsALane < words ? marks[first + lane] : make_uint4(0, 0, 0, 0);
    if (!__any_sync(~0u, (four.x | four.y | four.z | four.w) != 0))
      continue;
    const unsigned word[wordsALane] = {four.x, four.y, four.z, four.w};
#pragma unroll 1
    for (int w = 0; w < wordsALane; ++w)
      resampleMarked<D, Kind>(r,
                              w == 0   ? word[0]
                              : w == 1 ? word[1]
                              : w == 2 ? word[2]
                                       : word[3],
                              first * wordsALane + w, wordsALane);
  }
}

}

template <int D>
void resampleByPoints(Context& context, const LatticeToResample<D>& r)
{
  constexpr RunShape patch{3, 0};
  withInterpolation(r.image, [&]<Interpolation Kind>() {
    resamplePoints<D, Kind><<<blocksFor(r, patch), threadsOf(patch), 0, cudaStreamOf(context)>>>(r, patch);
  });
  checkLaunch("resampling by points");
}

template <int D>
void resampleUnsureVoxels(Context& context, const LatticeToResample<D>& r)
{
  const std::size_t words = wordsOfMarks<D>(r);
  withInterpolation(r.image, [&]<Interpolation Kind>() {
    constexpr std::size_t maxBlocks =
        2048; // about as many as run at the same time: most voxels are not marked
    const auto blocks =
        static_cast<unsigned>(std::min(ceilDiv<std::size_t>(words, threadsABlock * wordsALane), maxBlocks));
    resampleUnsure<D, Kind><<<blocks, threadsABlock, 0, cudaStreamOf(context)>>>(r, words);
  });
  checkLaunch("resampling unsure voxels by points");
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template void resampleByPoints<D>(Context&, const LatticeToResample<D>&);                                  \
  template void resampleUnsureVoxels<D>(Context&, const LatticeToResample<D>&)
TESSERA_INSTANTIATE(2);
TESSERA_INSTANTIATE(3);
#undef TESSERA_INSTANTIATE

}
