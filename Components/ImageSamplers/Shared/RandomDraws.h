#pragma once

#include "Core/Compute/Error.h"
#include "Core/Compute/Math/Random.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Parameters/Parameters.h"
#include "Core/Registration/Samples/Samples.h"

#include <atomic>
#include <string>

namespace tessera {

/// NumberOfSpatialSamples, which all random samplers read.
const Parameter<std::int64_t>& numberOfSpatialSamples();

/// The number of samples that a thread draws at a time. All are placed before any intensity is read, so that
/// the reads overlap.
constexpr std::size_t samplesAChunk = 128;

template <int D>
PointList<D> emptySamples(std::size_t count)
{
  requireMemory(static_cast<double>(count) * (D * sizeof(double) + sizeof(float)),
                "(NumberOfSpatialSamples " + std::to_string(count) + "): so many samples", "fewer samples");
  PointList<D> samples;
  for (auto& axis : samples.mm)
    axis.resize(count);
  samples.fixed.resize(count);
  return samples;
}

template <int D>
void setPoint(PointList<D>& samples, std::size_t sample, const Vec<D>& pointMm)
{
  for (int d = 0; d < D; ++d)
    samples.mm[d][sample] = pointMm[d];
}

/// Counts the tries of samples that must lie in a mask. Sample i uses attempts 0, 1, .. of its own counter,
/// so its place depends neither on other samples nor on the order. elastix's limit of ten tries a sample
/// holds for all samples together.
class AttemptLimit {
public:
  AttemptLimit(std::size_t samples, std::string sampler) : limit_(10 * samples), sampler_(std::move(sampler))
  {
  }

  /// Calls place(sample, words) for each of the samples [first, last) until it returns true. Throws
  /// Error(registrationFailed) once all chunks together have tried more often than the limit.
  template <class Place>
  void placeAll(const Draw& draw, std::size_t first, std::size_t last, Place&& place)
  {
    std::size_t tries = 0;
    for (std::size_t sample = first; sample < last; ++sample)
      for (std::uint32_t attempt = 0;; ++attempt) {
        if (++tries > limit_)
          giveUp();
        if (place(sample, randomWords(draw, static_cast<std::uint32_t>(sample), attempt)))
          break;
      }
    check(tried_.fetch_add(tries) + tries);
  }

  std::size_t limit() const { return limit_; }
  /// Throws if this is more than the limit.
  void check(std::size_t tries) const
  {
    if (tries > limit_)
      giveUp();
  }

private:
  [[noreturn]] void giveUp() const;

  std::size_t limit_;
  std::string sampler_;
  std::atomic<std::size_t> tried_{0};
};

}
