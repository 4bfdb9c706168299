#pragma once

#include "Core/Compute/Context.h"

#include <cstddef>

namespace tessera {

/// Intensities of samples on a CUDA device. A sample of which either is NaN does not count.
struct IntensityPairs {
  const float* fixed = nullptr;
  const float* moving = nullptr;
  std::size_t count = 0;
  bool fixedStays =
      false; // all calls that say so with these `fixed` and `count` have the same intensities there

  /// Calls with more samples than this are not recorded (Stream::beginRecording), so a metric may then keep
  /// results of a fixed side that stays.
  static constexpr std::size_t maxRecorded = std::size_t(1) << 18;
};

/// What an evaluation finds, on the device until its caller copies it.
struct MetricResult {
  double value = 0;
  unsigned long long valid = 0; // samples that counted
};

/// A metric's formula over arrays on a CUDA device. All calls only give work to the context's stream; none
/// waits for it. Equal input gives equal bits.
class MetricOnCuda {
public:
  virtual ~MetricOnCuda() = default;

  /// Forgets all sums.
  virtual void begin(Context&) = 0;
  /// Adds samples; may be called several times.
  virtual void accumulate(Context&, const IntensityPairs&) = 0;
  /// Value and slopes' table over all that was accumulated; `result` is on the device.
  virtual void finish(Context&, MetricResult* result) = 0;
  /// slopes[i] = d value / d moving[i], or 0 if sample i does not count; after finish.
  virtual void slopes(Context&, const IntensityPairs&, float* slopes) const = 0;
};

}
