#pragma once

#include "Components/Metrics/Shared/Descriptors/DescriptorComparison.h"
#include "Components/Metrics/Shared/MeanOverSamples.h"
#include "Core/Registration/Chain/ChainAtParameters.h"
#include "Core/Registration/TermMemory.h"
#include "Core/Registration/Terms/TermOnImages.h"

namespace tessera {

/// Mean squared difference of the images' self-similarities, for images of different contrast (MIND-SSC;
/// SelfSimilarityDescriptor.h has the paper). With F and M the numbers of the fixed and of the moving image,
/// from 0 to 1:
///
///   C = 1/N sum_x 1/channels sum_k (M_k(T(x)) - F_k(x))^2
///
/// A descriptor knows the directions of its neighbours, so those of the moving image are where T maps those
/// of the fixed one: T's mean Jacobian at the start of a level turns and stretches the steps of one fixed
/// voxel. Between voxels, descriptors are interpolated linearly.
///
/// On CUDA the descriptors lie on the device, where they are computed once a level. A sample's squared
/// difference and its gradient take the place of the moving image's intensity and gradient in
/// ImageTermOnCuda, and the metric is their mean.
template <int D>
class SelfSimilarity final : public TermOnImages<D>, public TermTellsMemory {
public:
  explicit SelfSimilarity(const Parameters& parameters) : TermOnImages<D>(parameters) {}

  static const ComponentDescription& description();

  std::string whyNotOnCuda() const override { return ""; }
  double hostBytes(const TermExtent& extent) const override
  {
    return Descriptor::channels * (extent.fixedVoxels + extent.movingVoxels)
           + stripeBytes(extent.positions, extent.parameters);
  }
  double hostBytesWhilePrepared(const TermExtent&) const override;
  void prepareForLevel(Context&, const TermLevel<D>&) override;
  void endLevel() override
  {
    TermOnImages<D>::endLevel();
    fixed_ = moving_ = {};
    level_ = {};
  }

private:
  using TermOnImages<D>::level_;
  using TermOnImages<D>::onCuda_;
  using Descriptor = SelfSimilarityDescriptor<D>;

  TermValue evaluateHere(Context&, const SampleSet<D>&, std::span<const double> parameters,
                         std::span<double> gradient) override;
  void prepareOnCuda(Context&, const Matrix<D>& movingSteps);
  typename MeanOverSamples<D>::ImageSum sumOfSquares(Context&, const TransformChain<D>&,
                                                     const ListSamples<D>&, std::span<double> gradient) const;

  PlacedDescriptor<D> fixed_, moving_;
  ChainAtParameters<D> chain_;
  MeanOverSamples<D> mean_;
};

}
