#pragma once

#include "Core/Compute/Context.h"

#include <cstddef>
#include <span>
#include <vector>

namespace tessera {

/// How work on positions is cut: stripe s has positions [s * positionsPerStripe, (s + 1) *
/// positionsPerStripe). Stripes depend on sizes alone and never on threads, so that sums over them repeat.
struct StripePlan {
  std::size_t stripes = 1, positionsPerStripe = 0, positions = 0;

  std::size_t first(std::size_t stripe) const { return stripe * positionsPerStripe; }
  std::size_t last(std::size_t stripe) const
  {
    const std::size_t end = (stripe + 1) * positionsPerStripe;
    return end < positions ? end : positions;
  }
};

/// One stripe below 1024 positions, otherwise a power of two up to 64. There are fewer stripes if their
/// gradients would need more than 64 MB, or if clearing and adding these would cost more than the positions'
/// own work.
StripePlan planStripes(std::size_t positions, std::size_t parameterCount);

/// A gradient that is the sum of stripes, which are filled independently and added in order.
class StripedGradient {
public:
  /// Stripe 0 is `gradient` itself. No value is set yet.
  void begin(std::span<double> gradient, std::size_t stripes);
  /// The gradient of one stripe, set to zero. Call it once a stripe, from the thread that fills the stripe.
  std::span<double> clearedStripe(std::size_t stripe);
  /// gradient = factor * sum of all stripes.
  void sum(const Context&, double factor);

private:
  std::span<double> gradient_;
  std::size_t stripes_ = 1;
  std::vector<double> others_; // stripes 1, 2, ..
};

}
