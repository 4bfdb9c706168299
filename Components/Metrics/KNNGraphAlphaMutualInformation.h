#pragma once

#include "Components/Metrics/Shared/NeighbourGraphs/NeighbourSearch.h"
#include "Core/Registration/Chain/ChainAtParameters.h"
#include "Core/Registration/FeatureTerm.h"
#include "Core/Registration/Samples/StripePlan.h"
#include "Core/Registration/Terms/TermOnImages.h"

#include <memory>
#include <utility>
#include <vector>

namespace tessera {

/// Alpha mutual information of several images of each side (features), estimated from graphs of nearest
/// neighbours (Staring et al., "Registration of cervical MRI using multifeature mutual information", IEEE TMI
/// 2009, eq. 12 to 15). The intensities of all images at a sample are a point of feature space. F, M and J
/// are sums of the Euclidean distances to the k nearest other samples by the fixed features, the moving ones,
/// and both; samples at distance 0 are no neighbours:
///
///   V = -1 / (alpha - 1) ln(1 / N^alpha sum_x (J(x) / sqrt(F(x) M(x)))^gamma),
///   gamma = (fixed features + moving features) (1 - alpha)
///
/// Neighbours are found by comparing all pairs of samples. They are exact: elastix's trees, and the error
/// that its search may make (ErrorBound), have no counterpart.
///
/// With (Registration "MultiResolutionRegistrationWithFeatures") the images are -f0, -f1, ..., -m0, -m1, ...;
/// with other registrations there is one of each side. A sample counts if all moving images have its T(x).
///
/// On CUDA a sample's summand and the gradient of the sum of all summands take the place of the moving
/// image's intensity and gradient in ImageTermOnCuda.
template <int D>
class KNNGraphAlphaMutualInformation final : public TermOnImages<D>, public FeatureTerm<D> {
public:
  explicit KNNGraphAlphaMutualInformation(const Parameters&);

  static const ComponentDescription& description();

  void setFeatures(FeatureImages<D> features) override { features_ = std::move(features); }
  std::string whyNotOnCuda() const override { return ""; }
  double workOfSample(double samples) const override { return samples / 10; } // it meets all others
  void prepareForLevel(Context&, const TermLevel<D>&) override;
  void endLevel() override
  {
    TermOnImages<D>::endLevel();
    ofFixedFeatures_.clear();
  }

private:
  using TermOnImages<D>::level_;
  using TermOnImages<D>::onCuda_;

  TermValue evaluateHere(Context&, const SampleSet<D>&, std::span<const double> parameters,
                         std::span<double> gradient) override;
  void checkCount(std::size_t samples) const;
  AlphaMutualInformation formula() const;
  std::size_t gather(Context&, const SampleSet<D>&, const TransformChain<D>&, bool withGradient);
  void gatherBatch(const SampleSet<D>&, const TransformChain<D>&, std::size_t first, std::size_t last,
                   bool withGradient, std::size_t& asked);
  void pullBack(Context&, const SampleSet<D>&, const TransformChain<D>&, float slope,
                std::span<double> gradient);
  void prepareOnCuda(Context&);

  Parameters parameters_;
  NeighbourGraphSettings settings_;
  FeatureImages<D> features_;
  std::vector<std::unique_ptr<Interpolator<D>>> ofFixedFeatures_; // prepared for features_.fixed
  std::vector<const Interpolator<D>*> ofMoving_;                  // all of them

  // These are kept only to avoid new allocations in each evaluation.
  ChainAtParameters<D> chain_;
  SampleFeatures values_;
  std::vector<float> gradients_, covectors_;
  std::vector<double> summands_;
  std::vector<GraphSample> samples_;
  StripedGradient stripedGradient_;
};

}
