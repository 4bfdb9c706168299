#pragma once

#include "Components/Metrics/Shared/NeighbourGraphs/NeighbourGraph.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Registration/Terms/ComparisonOnCuda.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tessera {

/// The summands of KNNGraphAlphaMutualInformation in kernels, which KNNGraphAlphaMutualInformation.cu
/// defines. All samples must come in one call. For N samples it needs 4 bytes a feature, 4 D more a moving
/// feature, 24 more, and scratch of 17 MB to 268 MB.
template <int D>
class NeighbourGraphOnCuda final : public ComparisonOnCuda<D> {
public:
  /// The interpolators of fixed images 1, 2, ... and of all moving images must stay valid.
  NeighbourGraphOnCuda(const NeighbourGraphSettings& settings, std::vector<InterpolatorOnCuda<D>> fixed,
                       std::vector<InterpolatorOnCuda<D>> moving)
      : settings_(settings), fixed_(std::move(fixed)), moving_(std::move(moving))
  {
  }

  /// Takes the memory for so many samples. `compare` takes it if this was not called.
  void reserve(const Context& context, std::size_t samples) const
  {
    grown(context, features_, settings_.features() * samples);
    grown(context, gradients_, moving_.size() * D * samples);
    grown(context, samples_, samples);
    grown(context, distances_, blocksFor(samples) * distancesOfBlock(samples));
  }

  TESSERA_CUDA_ONLY void compare(Context&, const SamplesOnCuda<D>&, const AffineMap<D>& before,
                                 const std::array<const float*, D>& displacements, const MaskOnCuda<D>&,
                                 const GatherTarget<D>&) const override;

  /// A block handles so many samples at a time, whose distances by fixed and by moving features to all
  /// samples it keeps in scratch.
  static constexpr std::size_t samplesAtOnce = 4;

private:
  static std::size_t distancesOfBlock(std::size_t samples) { return 2 * samplesAtOnce * samples; }
  /// Blocks of the search, by the number of samples alone.
  static std::size_t blocksFor(std::size_t samples)
  {
    constexpr std::size_t least = 64, most = 528, wantedScratch = std::size_t(16) << 20; // in floats
    const std::size_t groups = (samples + samplesAtOnce - 1) / samplesAtOnce;
    const std::size_t byScratch = wantedScratch / (distancesOfBlock(samples) + 1);
    return std::min(groups, std::min(most, std::max(least, byScratch)));
  }

  NeighbourGraphSettings settings_;
  std::vector<InterpolatorOnCuda<D>> fixed_, moving_;
  // These are kept only to avoid new allocations in each evaluation.
  mutable Buffer<float> features_, gradients_, distances_;
  mutable Buffer<GraphSample> samples_;
};

}
