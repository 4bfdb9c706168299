#include "Core/Registration/InterpolatorOnCuda.cuh"
#include "Core/Registration/SampleKernels.cuh"

#include <cmath>

namespace tessera {
namespace {

constexpr int blockWidth = 32, blockRows = 8;

/// Where positions of the lattice lie in the moving image, folded into one map; and what its gradients are turned by.
template <int D>
struct LatticeWarp {
  SamplesOnCuda<D> samples;
  MovingOnCuda<D> moving;
  GatherTarget<D> target;
  AffineMap<D> before;
  std::array<const float*, D> field;
  double indexFromPosition[D][D + 1]; // the last column is added
  float indexFromMm[D][D];
  float gradientFromIndex[D][D];
};

/// Index of the cell, and the fraction in it, of base + shift: the base in double, so that no accuracy is lost to the size of the
/// image.
template <int D>
struct WarpedCell : SplineCell<D> {
  bool inside = true;

  __device__ WarpedCell(const InterpolatorOnCuda<D>& image, const double (&base)[D], const float (&shift)[D])
  {
    this->interior = true;
#pragma unroll
    for (int d = 0; d < D; ++d) {
      const int whole = __double2int_rn(base[d]), last = image.size[d] - 1;
      const float rest = static_cast<float>(base[d] - whole) + shift[d]; // the index is whole + rest
      inside = inside && rest >= -0.5f - whole && rest < last + 0.5f - whole;
      float cell = floorf(image.lastVoxelClosesCell ? rest : (whole + rest) - whole);
      cell -= image.lastVoxelClosesCell && whole + rest == last ? 1 : 0;
      this->first[d] = whole + static_cast<int>(cell);
      this->fraction[d] = rest - cell;
      this->interior = this->interior && this->first[d] >= 0 && this->first[d] < last;
    }
  }
};

template <int D, bool WithField, bool WithGradient, bool Masked>
__global__ void __launch_bounds__(blockWidth* blockRows) warpLattice(const __grid_constant__ LatticeWarp<D> w)
{
  const int x = blockIdx.x * blockWidth + threadIdx.x, y = blockIdx.y * blockRows + threadIdx.y, z = blockIdx.z;
  const int position[3] = {x, y, z};
  bool asked = x < w.samples.positions[0] && y < w.samples.positions[1];
  if (asked) {
    const std::size_t i = (static_cast<std::size_t>(z) * w.samples.positions[1] + y) * w.samples.positions[0] + x;
    float u[D] = {}, shift[D] = {};
    double base[D];
    if constexpr (WithField) {
#pragma unroll
      for (int d = 0; d < D; ++d)
        u[d] = w.field[d][i];
    }
#pragma unroll
    for (int d = 0; d < D; ++d) {
      base[d] = w.indexFromPosition[d][D];
#pragma unroll
      for (int e = 0; e < D; ++e) {
        base[d] = fma(w.indexFromPosition[d][e], static_cast<double>(position[e]), base[d]);
        shift[d] = fmaf(w.indexFromMm[d][e], u[e], shift[d]);
      }
    }
    const WarpedCell<D> cell(w.moving.image, base, shift);
    bool counts = cell.inside;
    if constexpr (Masked) {
      const SampleOnCuda<D> sample = sampleAt(w.samples, i);
      asked = sample.asked;
      Vec<D> mappedMm = w.before(sample.pointMm);
#pragma unroll
      for (int d = 0; d < D; ++d)
        mappedMm[d] += u[d];
      counts = counts && asked && w.moving.mask.contains(mappedMm);
    }
    float value = NAN, slope[D] = {};
    if (counts)
      value = linearInCell<D>(w.moving.image, cell, slope);
    w.target.moving[i] = value;
    if (w.target.fixed != nullptr) {
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
        w.target.gradientPerMm[d][i] = gradient;
      }
    }
  }
  if constexpr (Masked)
    if (w.target.asked != nullptr) {
      const int ofBlock = __syncthreads_count(asked);
      if (threadIdx.x == 0 && threadIdx.y == 0 && ofBlock > 0)
        atomicAdd(w.target.asked, static_cast<unsigned long long>(ofBlock));
    }
}

template <int D>
LatticeWarp<D> warpOf(const SamplesOnCuda<D>& samples, const AffineMap<D>& before, const std::array<const float*, D>& field,
                      const MovingOnCuda<D>& moving, const GatherTarget<D>& target)
{
  LatticeWarp<D> w{samples, moving, target, before, field, {}, {}, {}};
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
  for (int d = 0; d < D; ++d) {
    w.indexFromPosition[d][D] = map.offset[d];
    for (int e = 0; e < D; ++e) {
      w.indexFromPosition[d][e] = map.matrix[d][e];
      w.indexFromMm[d][e] = static_cast<float>(toIndex.matrix[d][e]);
      w.gradientFromIndex[d][e] = static_cast<float>(turned[d][e]);
    }
  }
  return w;
}

template <int D, bool WithField>
void launch(Context& context, const LatticeWarp<D>& w)
{
  const bool withGradient = w.target.gradientPerMm[0] != nullptr;
  const bool masked = w.samples.mask.voxels != nullptr || w.moving.mask.voxels != nullptr;
  const auto kernel = masked ? withGradient ? warpLattice<D, WithField, true, true> : warpLattice<D, WithField, false, true>
                      : withGradient ? warpLattice<D, WithField, true, false>
                                     : warpLattice<D, WithField, false, false>;
  const dim3 blocks(ceilDiv(w.samples.positions[0], blockWidth), ceilDiv(w.samples.positions[1], blockRows),
                    D == 3 ? w.samples.positions[D - 1] : 1);
  kernel<<<blocks, dim3(blockWidth, blockRows), 0, cudaStreamOf(context)>>>(w);
  checkLaunch("warping a lattice");
}

}

template <int D>
void warpLatticeOnCuda(Context& context, const SamplesOnCuda<D>& samples, const AffineMap<D>& before,
                       const std::array<const float*, D>& field, const MovingOnCuda<D>& moving, const GatherTarget<D>& target)
{
  if (samples.count == 0)
    return;
  const LatticeWarp<D> w = warpOf<D>(samples, before, field, moving, target);
  if (field[0] != nullptr)
    launch<D, true>(context, w);
  else
    launch<D, false>(context, w);
}

template <int D>
std::optional<AffineMap<D>> foldedLinear(const ChainOnCuda<D>& chain)
{
  AffineMap<D> folded;
  for (int link = 0; link < chain.count; ++link) {
    const TransformOnCuda<D>& t = chain.links[link];
    if (t.form != CudaForm::linear)
      return std::nullopt;
    if (t.combination == Combination::compose) {
      folded = compose(t.map, folded);
      continue;
    }
    for (int d = 0; d < D; ++d) {
      folded.offset[d] += t.map.offset[d];
      for (int e = 0; e < D; ++e)
        folded.matrix[d][e] += t.map.matrix[d][e] - (d == e ? 1 : 0);
    }
  }
  return folded;
}

#define TESSERA_INSTANTIATE(D)                                                                                                     \
  template void warpLatticeOnCuda<D>(Context&, const SamplesOnCuda<D>&, const AffineMap<D>&, const std::array<const float*, D>&,   \
                                     const MovingOnCuda<D>&, const GatherTarget<D>&);                                              \
  template std::optional<AffineMap<D>> foldedLinear<D>(const ChainOnCuda<D>&);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
