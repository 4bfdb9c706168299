#pragma once

#include "Components/Metrics/Shared/Series/SeriesKernels.h"
#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/CostTerm.h"
#include "Core/Registration/Samples/SamplesForCuda.h"

#include <functional>
#include <optional>
#include <vector>

namespace tessera {

/// The work of a SeriesTerm on a CUDA device, for all its samples in batches of places. An entry, a
/// place at a time, takes 16 D + 9 bytes, and 4 D + 4 more with a gradient.
template <int D>
class SeriesTermOnCuda {
public:
  /// Takes the memory for the expected samples at all times.
  SeriesTermOnCuda(Context&, const TermLevel<D>&, const std::optional<Matrix<D>>& gradientMatrix);

  /// Fills `timeOf` with the times of so many places, of which the first has this number.
  using ChooseTimes =
      std::function<void(std::size_t firstPlace, std::size_t places, std::span<std::uint32_t> timeOf)>;

  /// Calls visit with batches of all samples, and returns the number of samples that the mask contains. Each
  /// place is seen at `times` times. Unless `gradient` is empty, it becomes the sum over the slopes that
  /// visit enqueues. Both spans lie where vectorContext says.
  std::size_t visitPlaces(Context&, const SampleSet<D>&, std::size_t times,
                          std::span<const double> parameters, std::span<double> gradient, const ChooseTimes&,
                          const std::function<void(const PlacesOnCuda&)>& visit);

private:
  void reserve(const Context&, std::size_t entries, bool withGradient);
  /// Finds the values at the entries of a list, and their gradients unless the arrays are null.
  void gather(Context&, const SamplesOnCuda<D>& list, const std::array<float*, D>& gradientPerMm);

  TermLevel<D> level_;
  std::unique_ptr<ChainPasses<D>> chain_;
  SamplesForCuda<D> samples_;
  MovingOnCuda<D> moving_; // without its image
  std::shared_ptr<const Buffer<std::uint8_t>> movingMask_;
  Buffer<double> points_, mapped_;
  Buffer<float> values_, gradients_, slopes_;
  Buffer<std::uint8_t> inside_;
  Buffer<std::uint32_t> timeOf_;
  std::vector<std::uint32_t> timeOfOnHost_; // what timeOf_ holds
  Buffer<unsigned long long> asked_;
  Buffer<CovectorMoments<D>> moments_; // for a linear transform
};

}
