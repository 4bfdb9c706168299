#pragma once

#include "Core/Compute/Context.h"

#include <array>
#include <cstddef>

namespace tessera {

/// Intensities of samples on a CUDA device. A pair with a NaN does not count.
struct IntensityPairs {
  const float* fixed = nullptr;
  const float* moving = nullptr;
  std::size_t count = 0;
  /// For a LatticeMetric: the positions along each axis of its lattice, 1 for an axis that is missing.
  std::array<int, 3> size{};
  /// Whether slopes() is going to be called.
  bool slopesFollow = true;
};

/// The result of an evaluation. It is on the device until the caller copies it.
struct MetricResult {
  double value = 0;
  unsigned long long valid = 0; // samples that counted
};

/// A metric's formula over arrays on a CUDA device. All calls only enqueue work on the context's stream and
/// wait for nothing. Equal input gives equal bits.
class MetricOnCuda {
public:
  virtual ~MetricOnCuda() = default;

  /// Sets all sums to zero.
  virtual void begin(Context&) = 0;
  /// Adds samples; may be called several times. A LatticeMetric gets its whole lattice in one call.
  virtual void accumulate(Context&, const IntensityPairs&) = 0;
  /// Computes the value and the table of slopes from all that was accumulated; `result` is on the device.
  virtual void finish(Context&, MetricResult* result) = 0;
  /// slopes[i] = d value / d moving[i], or 0 if sample i does not count. Call it after finish.
  virtual void slopes(Context&, const IntensityPairs&, float* slopes) const = 0;
};

}
