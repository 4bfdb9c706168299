#include "Core/Compute/Cuda/BlockThreads.h"
#include "Core/Compute/Cuda/LaunchShape.cuh"
#include "Core/Registration/Interpolation/InterpolatorOnCuda.cuh"
#include "Core/Registration/Samples/FixedPointIndex.h"
#include "Core/Registration/Samples/SampleKernels.cuh"
#include "Core/Registration/Terms/WarpLatticeLaunch.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

// A block usually warps 64 x 16 positions of a plane. Its threads go along y, so that they find the moving
// image's rows in the first-level cache. Blocks of height 2 take 1 to 5 % less time than those of 4, by the
// performance model and by measurement.
constexpr int blockWidth = WarpBlocks::width, rowsAThread = WarpBlocks::rowsAThread, usualHeight = 2,
              lowHeight = 4, maxHeight = 16;

/// Where positions of the lattice lie in the moving image, composed into one affine map, and the matrix for
/// its gradients. Indices are fixed-point numbers with 32 fractional bits: steps add up without rounding, and
/// few conversions are needed, which are slow on a GPU.
template <int D>
struct LatticeWarp {
  SamplesOnCuda<D> samples;
  MovingOnCuda<D> moving;
  GatherTarget<D> target;
  AffineMap<D> before;
  std::array<const float*, D> field;
  long long start[D], step[D][D]; // start of index d, less bitsOfWholeNumbers; its step along axis e
  float indexFromMm[D][D];
  float gradientFromIndex[D][D];
  bool maskHasImagesGrid;
  /// Error bound of an index in voxels: a constant, and a part for each mm of displacement.
  float margin, marginPerMm;
};

/// A point within this distance, in voxels, before a plane of voxel centres belongs to the cell behind the
/// plane, as it does in cellOf, which rounds to float. Lattices whose points lie on these planes are rounded
/// here too; without this many points would get the slope of the cell before the plane.
constexpr float planeWidth = 0x1p-18f;

/// The cell that contains index + shift, and the fraction within it; bitsOfWholeNumbers has been subtracted
/// from `index`.
template <int D>
struct WarpedCell : SplineCell<D> {
  bool inside;

  __device__ WarpedCell(const InterpolatorOnCuda<D>& image, const long long (&index)[D],
                        const float (&shift)[D])
  {
    this->interior = true;
#pragma unroll
    for (int d = 0; d < D; ++d) {
      const float rest = fmaf(static_cast<float>(static_cast<unsigned>(index[d])), 0x1p-32f, shift[d]);
      const float rounded = rest + wholeNumbers, nearest = rounded - wholeNumbers;
      int first = static_cast<int>(index[d] >> 32) + __float_as_int(rounded);
      float fraction = rest - nearest;
      if (fraction < -planeWidth) {
        first -= 1;
        fraction += 1;
      }
      this->first[d] = first;
      this->fraction[d] = fraction;
      this->interior =
          this->interior && static_cast<unsigned>(first) < static_cast<unsigned>(image.size[d] - 1);
    }
    inside = this->interior || atBorder(image);
  }

private:
  /// Whether a point outside of all cells is at most half a voxel away from the image's outermost voxel
  /// centres.
  __device__ bool atBorder(const InterpolatorOnCuda<D>& image)
  {
    bool within = true;
#pragma unroll
    for (int d = 0; d < D; ++d) {
      const int last = image.size[d] - 1;
      within = within && (this->first[d] >= 0 || (this->first[d] == -1 && this->fraction[d] >= 0.5f))
               && (this->first[d] < last || (this->first[d] == last && this->fraction[d] < 0.5f));
      if (image.lastVoxelClosesCell && this->first[d] == last && this->fraction[d] <= planeWidth) {
        this->first[d] = last - 1;
        this->fraction[d] = 1;
      }
    }
    return within;
  }
};

/// Whether the moving mask contains T(x) of position i, computed by the CPU's expressions. It is not inlined,
/// so that it takes no registers from the rest of the kernel.
template <int D>
__device__ __noinline__ bool inMaskAsOnCpu(const LatticeWarp<D>& w, unsigned i, Vec<D> displacementMm)
{
  Vec<D> mappedMm = w.before(sampleAt(w.samples, i).pointMm);
#pragma unroll
  for (int d = 0; d < D; ++d)
    mappedMm[d] += displacementMm[d];
  return w.moving.mask.contains(mappedMm);
}

/// The same. If image and mask share a grid and rounding cannot change the nearest voxel, the cell already
/// found tells which voxel of the mask to read.
template <int D>
__device__ bool inMask(const LatticeWarp<D>& w, const WarpedCell<D>& cell, unsigned i, const float (&u)[D])
{
  float farthest = 0;
#pragma unroll
  for (int d = 0; d < D; ++d)
    farthest = fmaxf(farthest, fabsf(u[d]));
  const float margin = fmaf(w.marginPerMm, farthest, w.margin);
  bool sure = w.maskHasImagesGrid;
  std::size_t voxel = 0;
#pragma unroll
  for (int d = D - 1; d >= 0; --d) {
    sure = sure && fabsf(cell.fraction[d] - 0.5f) > margin;
    voxel = voxel * w.moving.image.size[d] + (cell.first[d] + (cell.fraction[d] >= 0.5f));
  }
  if (sure)
    return __ldg(w.moving.mask.voxels + voxel) != 0;
  Vec<D> displacementMm;
#pragma unroll
  for (int d = 0; d < D; ++d)
    displacementMm[d] = u[d];
  return inMaskAsOnCpu<D>(w, i, displacementMm);
}

/// Pass 1 of a term for all positions x of a lattice, T(x) = before(x) + u(x); see warpLatticeOnCuda.
///
///   index = start + steps of the position                    64-bit fixed point
///   index = index + indexFromMm * u(x)                       unless u is zero
///   cell, fraction = floor(index), index - floor(index)
///   m, slopes = linear interpolant in the cell
///   moving[i] = m, or NaN if the position does not count
///   gradientPerMm[.][i] = gradientFromIndex * slopes, or 0
template <int D, bool WithField, bool WithGradient, bool Masked, int MaxHeight>
__global__ void __launch_bounds__(blockWidth* MaxHeight, (Masked ? 4 : 6) * lowHeight / MaxHeight)
    warpLattice(const __grid_constant__ LatticeWarp<D> w)
{
  // Blocks at the end of x may be half empty. Each row of blocks begins with another column, so that they do
  // not all fall to the same multiprocessors.
  const int column = (blockIdx.x + blockIdx.y + blockIdx.z) % gridDim.x;
  const int x = column * blockWidth + threadIdx.x, z = blockIdx.z;
  const int firstRow = (blockIdx.y * blockDim.y + threadIdx.y) * rowsAThread;
  const int rows = x < w.samples.positions[0] ? min(rowsAThread, w.samples.positions[1] - firstRow) : 0;
  const unsigned width = w.samples.positions[0];
  // There are fewer than 2^32 positions.
  unsigned i = (static_cast<unsigned>(z) * w.samples.positions[1] + firstRow) * width + x;
  long long index[D];
#pragma unroll
  for (int d = 0; d < D; ++d)
    index[d] = w.start[d] + w.step[d][0] * x + w.step[d][1] * firstRow + (D == 3 ? w.step[d][D - 1] * z : 0);

  float next[D] = {};
  const auto readDisplacement = [&](unsigned at) {
    if constexpr (WithField) {
#pragma unroll
      for (int d = 0; d < D; ++d)
        next[d] = w.field[d][at];
    }
  };
  if (rows > 0)
    readDisplacement(i);
  int askedRows = 0;
#pragma unroll 1
  for (int row = 0; row < rows; ++row, i += width) {
    float u[D], shift[D] = {};
#pragma unroll
    for (int d = 0; d < D; ++d)
      u[d] = next[d];
    if (row + 1 < rows)
      readDisplacement(i + width);
    if constexpr (WithField) {
#pragma unroll
      for (int d = 0; d < D; ++d) {
#pragma unroll
        for (int e = 0; e < D; ++e)
          shift[d] = fmaf(w.indexFromMm[d][e], u[e], shift[d]);
      }
    }
    const WarpedCell<D> cell(w.moving.image, index, shift);
    bool counts = cell.inside;
    if constexpr (Masked) {
      const bool asked = w.samples.isAsked(i);
      askedRows += asked;
      counts = counts && asked && (w.moving.mask.voxels == nullptr || inMask<D>(w, cell, i, u));
    }
    float value = NAN, slope[D] = {};
    if (counts)
      value = linearInCell<D>(w.moving.image, cell, slope);
    const bool isNumber = value == value; // otherwise the product of slope 0 and gradient NaN would be NaN
    w.target.moving[i] = value;
    if (w.target.fixed != nullptr) {
      const int position[3] = {x, firstRow + row, z};
      std::size_t voxel = 0;
#pragma unroll
      for (int d = D - 1; d >= 0; --d)
        voxel = voxel * w.samples.imageSize[d] + (w.samples.first[d] + w.samples.step[d] * position[d]);
      w.target.fixed[i] = __ldg(w.samples.image + voxel);
    }
    if constexpr (WithGradient) {
#pragma unroll
      for (int d = 0; d < D; ++d) {
        float gradient = 0;
#pragma unroll
        for (int e = 0; e < D; ++e)
          gradient = fmaf(w.gradientFromIndex[d][e], slope[e], gradient);
        w.target.gradientPerMm[d][i] = isNumber ? gradient : 0;
      }
    }
#pragma unroll
    for (int d = 0; d < D; ++d)
      index[d] += w.step[d][1];
  }
  if constexpr (Masked)
    if (w.target.asked != nullptr) {
      for (int offset = 16; offset > 0; offset /= 2)
        askedRows += __shfl_down_sync(~0u, askedRows, offset);
      if (threadIdx.x % 32 == 0 && askedRows > 0)
        atomicAdd(w.target.asked, static_cast<unsigned long long>(askedRows));
    }
}

template <int D>
bool sameGrid(const MaskOnCuda<D>& mask, const InterpolatorOnCuda<D>& image)
{
  return mask.size == image.size && mask.pointToIndex.fromOffset == image.pointToIndex.fromOffset
         && mask.pointToIndex.originMm == image.pointToIndex.originMm;
}

template <int D>
LatticeWarp<D> warpOf(const SamplesOnCuda<D>& samples, const AffineMap<D>& before,
                      const std::array<const float*, D>& field, const MovingOnCuda<D>& moving,
                      const GatherTarget<D>& target)
{
  LatticeWarp<D> w{
      samples, moving, target, before, field, {}, {}, {}, {}, sameGrid<D>(moving.mask, moving.image), {}, {}};
  AffineMap<D> steps{Matrix<D>{}, {}};
  for (int d = 0; d < D; ++d) {
    steps.matrix[d][d] = samples.step[d];
    steps.offset[d] = samples.first[d];
  }
  AffineMap<D> toIndex{moving.image.pointToIndex.fromOffset, {}};
  for (int d = 0; d < D; ++d)
    for (int e = 0; e < D; ++e)
      toIndex.offset[d] -= toIndex.matrix[d][e] * moving.image.pointToIndex.originMm[e];
  const AffineMap<D> map = compose(toIndex, compose(before, compose(samples.pointFromIndex, steps)));
  const Matrix<D> turned = multiply<D>(moving.gradientMatrix, transpose<D>(toIndex.matrix));
  const auto fixedPoint = [](double value) {
    return std::llrint(std::clamp(value, -2e9, 2e9) * 4294967296.0);
  };
  double positions = 1, longest = 0;
  for (int d = 0; d < D; ++d) {
    positions += samples.positions[d];
    double row = 0;
    for (int e = 0; e < D; ++e)
      row += std::abs(toIndex.matrix[d][e]);
    longest = std::max(longest, row);
  }
  w.margin =
      static_cast<float>(0x1p-20 + 0x1p-33 * positions); // fractions are floats, steps rounded to 32 bits
  w.marginPerMm = static_cast<float>(0x1p-21 * longest); // some roundings to 24 bits
  for (int d = 0; d < D; ++d) {
    w.start[d] = fixedPoint(map.offset[d]) - (static_cast<long long>(bitsOfWholeNumbers) << 32);
    for (int e = 0; e < D; ++e) {
      w.step[d][e] = fixedPoint(map.matrix[d][e]);
      w.indexFromMm[d][e] = static_cast<float>(toIndex.matrix[d][e]);
      w.gradientFromIndex[d][e] = static_cast<float>(turned[d][e]);
    }
  }
  return w;
}

template <int D, bool WithField, int MaxHeight>
void launch(Context& context, const LatticeWarp<D>& w, int blockHeight)
{
  const bool withGradient = w.target.gradientPerMm[0] != nullptr;
  const bool masked = w.samples.asked != nullptr || w.moving.mask.voxels != nullptr;
  const auto kernel = masked         ? withGradient ? warpLattice<D, WithField, true, true, MaxHeight>
                                                    : warpLattice<D, WithField, false, true, MaxHeight>
                              : withGradient ? warpLattice<D, WithField, true, false, MaxHeight>
                                     : warpLattice<D, WithField, false, false, MaxHeight>;
  const dim3 blocks(ceilDiv(w.samples.positions[0], blockWidth),
                    ceilDiv(w.samples.positions[1], blockHeight * rowsAThread),
                    D == 3 ? w.samples.positions[D - 1] : 1);
  kernel<<<blocks, dim3(blockWidth, blockHeight), 0, cudaStreamOf(context)>>>(w);
  checkLaunch("warping a lattice");
}

int heightOfBlocks()
{
  return std::clamp(BlockThreads::orUsual(blockWidth * usualHeight) / blockWidth, 1, maxHeight);
}

template <int D, bool WithField>
void launch(Context& context, const LatticeWarp<D>& w)
{
  const int height = heightOfBlocks();
  if (height <= lowHeight)
    launch<D, WithField, lowHeight>(context, w, height);
  else
    launch<D, WithField, maxHeight>(context, w, height);
}

}

LaunchShape warpLatticeShape(const std::array<int, 3>& positions)
{
  const int height = heightOfBlocks();
  const auto kernel = height <= lowHeight ? warpLattice<3, true, true, false, lowHeight>
                                          : warpLattice<3, true, true, false, maxHeight>;
  return shapeOf(kernel,
                 std::ceil(1.0 * positions[0] / blockWidth)
                     * std::ceil(1.0 * positions[1] / (height * rowsAThread)) * positions[2],
                 blockWidth * height);
}

template <int D>
void warpLatticeOnCuda(Context& context, const SamplesOnCuda<D>& samples, const AffineMap<D>& before,
                       const std::array<const float*, D>& field, const MovingOnCuda<D>& moving,
                       const GatherTarget<D>& target)
{
  if (samples.count == 0)
    return;
  const LatticeWarp<D> w = warpOf<D>(samples, before, field, moving, target);
  if (field[0] != nullptr)
    launch<D, true>(context, w);
  else
    launch<D, false>(context, w);
}

TESSERA_INSTANTIATE_FUNCTIONS(warpLatticeOnCuda<D>);

}
