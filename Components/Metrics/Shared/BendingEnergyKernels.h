#pragma once

#include "Components/Transforms/Shared/OnCuda/ChainKernels.h"
#include "Core/Compute/CudaOnly.h"
#include "Core/Registration/Transform.h"

// Kernels of TransformBendingEnergyPenalty. All arrays lie on the context's CUDA device.
namespace tessera {

/// Over samples; all zero before the first chunk.
template <int D>
struct BendingSums {
  // Energy, valid samples, those asked and, if the last transform is linear, d energy / d its matrix.
  double sums[3 + D * D];
  unsigned long long largest; // the bits of the largest magnitude among covectors
  unsigned blocksDone;

  double energy() const { return sums[0]; }
  TESSERA_HOST_DEVICE const double* valid() const { return sums + 1; }
  double asked() const { return sums[2]; }
  double ofMatrix(int row, int column) const { return sums[3 + row * D + column]; }
};

/// Samples [first, first + count) of a set.
struct SampleChunk {
  std::size_t first = 0, count = 0;
};

/// Where the gradient of a chunk's energy comes from for a transform that is not linear. Arrays of
/// chunk.count doubles, one behind the other: the point where the last transform is asked (D of them; NaN:
/// not at all), and the derivatives of the energy with respect to its first and second derivatives (of a
/// B-spline: by the grid's index), component by component.
template <int D>
constexpr std::size_t bendingCovectors()
{
  return D + D * (D + symmetricCount(D));
}

constexpr std::size_t maxBendingWarps = 4224;
template <int D>
constexpr std::size_t bendingScratch()
{
  return maxBendingWarps * (3 + D * D);
}

enum class BendingGradient { none, ofLinear, byCovectors };

/// Whether the last transform's spatial Jacobian changes the energy: what it is composed with has second
/// derivatives.
template <int D>
bool bendsBefore(const ChainOnCuda<D>& chain)
{
  bool bends = false;
  for (int link = 0; link + 1 < chain.count; ++link)
    bends = bends || chain.links[link].kind != TransformKind::linear;
  return bends && chain.links[chain.count - 1].combination == Combination::compose;
}

/// Adds a chunk to the sums and, for a gradient by covectors, writes `covectors` (null otherwise). `scratch`
/// holds bendingScratch<D>() doubles. Operations a sample: about 1000 fused multiply-adds in double for each
/// cubic B-spline (3D), whose control points come from the caches; bytes: 24 of a list, 240 written for
/// covectors.
template <int D>
TESSERA_CUDA_ONLY void bendingEnergyOnCuda(Context&, const SamplesOnCuda<D>&, const SampleChunk&,
                                           const ChainOnCuda<D>&, const MaskOnCuda<D>& movingMask,
                                           BendingGradient, double* scratch, double* covectors,
                                           BendingSums<D>*);

/// Adds the chunk's covectors, pulled back to a B-spline's control points, to the gradient (`overwrites`:
/// instead of what is there) and, after the last chunk, divides by the number of valid samples. `sums` holds
/// as many as the gradient, all zero before and after.
template <int D>
TESSERA_CUDA_ONLY void pullBackBendingOnCuda(Context&, const SampleChunk&, const ChainOnCuda<D>&,
                                             const double* covectors, const BendingSums<D>*, bool overwrites,
                                             bool isLast, unsigned long long* sums, double* gradient);

}
