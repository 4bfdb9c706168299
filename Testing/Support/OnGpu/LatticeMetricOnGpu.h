#pragma once

#include "Core/Compute/Memory/Buffer.h"
#include "Core/Registration/Terms/MetricOnCuda.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/LatticeImages.h"

#include <algorithm>
#include <utility>

namespace tessera::testing {

struct LatticeResultOnGpu : LatticeResult {
  unsigned long long valid = 0;
};

/// Value and slopes of a metric that is prepared for a level, from its second evaluation: that must not know
/// of the first.
template <class Metric>
LatticeResultOnGpu evaluateOnGpu(const Metric& metric, const LatticeImages& images, bool withSlopes = true)
{
  constexpr float untouched = -4321;
  constexpr std::size_t guard = 67;
  Context context = makeContext({DeviceKind::cuda, 0}, 1);
  const std::size_t count = images.fixed.size();
  Buffer<float> fixed, moving, slopes;
  fixed.fromHost(context, images.fixed);
  moving.fromHost(context, images.moving);
  slopes.fromHost(context, std::vector<float>(count + guard, untouched));
  Buffer<tessera::MetricResult> result(context, 1);
  IntensityPairs lattice{std::as_const(fixed).span().data(), std::as_const(moving).span().data(), count};
  for (int d = 0; d < 3; ++d)
    lattice.size[d] = static_cast<int>(images.size[d]);
  lattice.slopesFollow = withSlopes;

  const std::unique_ptr<MetricOnCuda> onCuda = metric.onCuda(context);
  for (int time = 0; time < 2; ++time) {
    onCuda->begin(context);
    onCuda->accumulate(context, lattice);
    onCuda->finish(context, result.span().data());
  }
  if (withSlopes)
    onCuda->slopes(context, lattice, slopes.span().data());

  const tessera::MetricResult onHost = result.toHost(context)[0];
  LatticeResultOnGpu found{{onHost.value, slopes.toHost(context)}, onHost.valid};
  EXPECT_EQ(
      std::count(found.slopes.begin() + static_cast<std::ptrdiff_t>(count), found.slopes.end(), untouched),
      static_cast<std::ptrdiff_t>(guard))
      << "wrote behind the slopes";
  found.slopes.resize(count);
  return found;
}

}
