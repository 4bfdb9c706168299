#pragma once

#include "Components/Metrics/Shared/TissueVolumes.h"
#include "Components/Transforms/Shared/OnCuda/ChainKernels.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Registration/Transform.h"

// The kernels of penalties on the spatial derivatives of a transform. All arrays lie on the context's CUDA
// device.
namespace tessera {

/// The formula that is summed over samples: TransformBendingEnergyPenalty, TransformFoldingPenalty or
/// SumSquaredTissueVolumeDifference.
enum class JetFormula { bendingEnergy, folding, tissueVolume };

/// The settings of the formulas, and the images that tissue volumes compare.
template <int D>
struct JetSettings {
  double tolerated = 0; // volumePenalty's, of folds
  // Tissue volumes read the moving image at T(x) of all samples, NaN where a sample does not count. Its
  // gradients (null: not needed) become the derivatives of the summands by T(x) through the moving image.
  TissueVolumes tissue;
  const float* moving = nullptr;
  std::array<float*, D> gradientPerMm{};
};

/// Sums over all samples; all zero before the first chunk.
template <int D>
struct JetSums {
  // The penalty, the number of valid samples, the number of samples asked for and, if the last transform is
  // linear, the derivative of the penalty with respect to its matrix.
  double sums[3 + D * D];
  unsigned long long largest; // the bits of the largest absolute value among all covectors
  unsigned blocksDone;
  CovectorMoments<D> moments; // those of tissue volumes through the moving image, if it is linear

  double penalty() const { return sums[0]; }
  TESSERA_HOST_DEVICE const double* valid() const { return sums + 1; }
  double asked() const { return sums[2]; }
  double ofMatrix(int row, int column) const { return sums[3 + row * D + column]; }
};

/// Samples [first, first + count) of a set.
struct SampleChunk {
  std::size_t first = 0, count = 0;
};

/// Doubles a sample in the array of covectors, from which the gradient of a transform that is not linear
/// follows. The array holds, component by component and chunk.count values each: the point at which the last
/// transform is evaluated (D components; NaN: the sample does not count), then the derivatives of the penalty
/// with respect to that transform's first and, if the formula has them, second derivatives there. For a
/// B-spline these are derivatives by the grid's index.
template <int D>
constexpr std::size_t jetCovectors(JetFormula formula)
{
  return D + D * (D + (formula == JetFormula::bendingEnergy ? symmetricCount(D) : 0));
}

constexpr std::size_t maxJetWarps = 4224;
template <int D>
constexpr std::size_t jetScratch()
{
  return maxJetWarps * (3 + D * D);
}

enum class JetGradient { none, ofLinear, byCovectors };

/// Whether the spatial Jacobian of the last transform changes the penalty. It changes the bending energy if
/// that transform is composed with one that has second derivatives.
template <int D>
bool isThroughJacobian(JetFormula formula, const ChainOnCuda<D>& chain)
{
  if (formula != JetFormula::bendingEnergy)
    return true;
  bool bends = false;
  for (int link = 0; link + 1 < chain.count; ++link)
    bends = bends || chain.links[link].kind != TransformKind::linear;
  return bends && chain.links[chain.count - 1].combination == Combination::compose;
}

/// Adds a chunk to the sums and writes `covectors`, which may be null unless the gradient is computed by
/// covectors. `scratch` holds jetScratch<D>() doubles. In 3D a sample takes about 1000 fused multiply-adds in
/// double precision for each cubic B-spline, whose control points come from the caches. It reads 24 bytes if
/// samples are a list, and writes 8 bytes for each of jetCovectors.
template <int D>
TESSERA_CUDA_ONLY void jetPenaltyOnCuda(Context&, JetFormula, const JetSettings<D>&, const SamplesOnCuda<D>&,
                                        const SampleChunk&, const ChainOnCuda<D>&,
                                        const MaskOnCuda<D>& movingMask, JetGradient, double* scratch,
                                        double* covectors, JetSums<D>*);

/// Pulls the chunk's covectors back to a B-spline's control points and adds them to the gradient
/// (`overwrites`: replaces it). After the last chunk it divides the gradient by the number of valid samples.
/// `sums` has the gradient's length and is all zero before and after.
template <int D>
TESSERA_CUDA_ONLY void pullBackJetsOnCuda(Context&, JetFormula, const SampleChunk&, const ChainOnCuda<D>&,
                                          const double* covectors, const JetSums<D>*, bool overwrites,
                                          bool isLast, unsigned long long* sums, double* gradient);

}
