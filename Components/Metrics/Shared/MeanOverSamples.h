#pragma once

#include "Core/Registration/CostTerm.h"
#include "Core/Registration/Samples/SampleGather.h"
#include "Core/Registration/Samples/StripePlan.h"

#include <functional>

namespace tessera {

/// The mean over samples of a function of the transform, on the CPU. A sample counts if T(x) lies in the
/// moving mask; the extent of the moving image does not matter.
template <int D>
class MeanOverSamples {
public:
  /// Returns the sum of the function over at most samplesAtOnce points and, unless `gradient` is empty, adds
  /// the gradient of that sum. Several threads may call it at the same time.
  using BatchSum = std::function<double(Context&, const TransformChain<D>&, const ListSamples<D>&,
                                        std::span<double> gradient)>;
  /// The same of the transform and the images: `fixed` has the fixed image's intensities at the points. The
  /// function may leave points out, and says how many count.
  struct ImageSum {
    double value = 0;
    std::size_t valid = 0;
  };
  using ImageBatchSum = std::function<ImageSum(Context&, const TransformChain<D>&, const ListSamples<D>&,
                                               const float* fixed, std::span<double> gradient)>;
  /// The 27 derivatives of so many samples stay in the cache.
  static constexpr std::size_t samplesAtOnce = 128;

  /// Overwrites `gradient` unless it is empty. Without a sample that counts, value and gradient are 0.
  TermValue evaluate(Context&, const SampleSet<D>&, const TransformChain<D>&, const Mask<D>* movingMask,
                     std::span<double> gradient, const BatchSum&);
  TermValue evaluate(Context&, const SampleSet<D>&, const TransformChain<D>&, const Mask<D>* movingMask,
                     std::span<double> gradient, const ImageBatchSum&);

private:
  struct StripeSum {
    double value = 0;
    SampleCount count;
  };
  static StripeSum sumStripe(const SampleSet<D>&, const TransformChain<D>&, const Mask<D>* movingMask,
                             std::size_t first, std::size_t last, std::span<double> gradient,
                             const ImageBatchSum&);

  // These are kept only to avoid new allocations in each evaluation.
  std::vector<StripeSum> sums_;
  StripedGradient stripedGradient_;
};

}
