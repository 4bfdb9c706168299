// needs: GPU
#include "Components/Metrics/RobustNormalizedCorrelation.h"

#include "Core/Compute/Memory/Buffer.h"
#include "Testing/Support/Naive/NaiveRobustCorrelation.h"
#include "Testing/Support/OnGpu/GpuTest.h"

#include <utility>

namespace tessera {
namespace {

using namespace testing;

struct ResultOnGpu : RobustCorrelationResult {
  unsigned long long valid = 0;
};

ResultOnGpu evaluateOnGpu(const std::string& text, const RobustCorrelationCase& images)
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

  const std::unique_ptr<MetricOnCuda> onCuda = robustMetric(text).onCuda(context);
  for (int time = 0; time < 2; ++time) { // the second evaluation must not know of the first
    onCuda->begin(context);
    onCuda->accumulate(context, lattice);
    onCuda->finish(context, result.span().data());
  }
  onCuda->slopes(context, lattice, slopes.span().data());

  ResultOnGpu found;
  found.value = result.toHost(context)[0].value;
  found.valid = result.toHost(context)[0].valid;
  found.slopes = slopes.toHost(context);
  for (std::size_t i = 0; i < guard; ++i)
    EXPECT_EQ(found.slopes[count + i], untouched) << "wrote behind the slopes";
  found.slopes.resize(count);
  return found;
}

TEST(RobustNormalizedCorrelationOnCudaTest, IsThatOfTheCpuAndRepeatsItsBits)
{
  TESSERA_NEEDS_GPU();
  for (const std::array<std::size_t, 3> size : {std::array<std::size_t, 3>{1, 3, 1},
                                                {7, 5, 1},
                                                {66, 2, 2},
                                                {9, 7, 5},
                                                {2, 33, 65},
                                                {101, 83, 67},
                                                {160, 100, 131}})
    for (const double missing : {0.0, 0.3})
      for (const std::string text : {"(OutlierShare 0.2)", "(OutlierShare 1)"}) {
        SCOPED_TRACE(::testing::Message() << size[0] << " x " << size[1] << " x " << size[2] << ", missing "
                                          << missing << ", " << text);
        const RobustCorrelationCase images(size, missing);
        const RobustCorrelationResult expected = robustResult(text, images);

        const ResultOnGpu found = evaluateOnGpu(text, images), again = evaluateOnGpu(text, images);

        EXPECT_EQ(found.valid, static_cast<unsigned long long>(std::ranges::count_if(
                                   images.moving, [](float m) { return !std::isnan(m); })));
        EXPECT_NEAR(found.value, expected.value, 1e-9);
        double largest = 0, farthest = 0;
        for (std::size_t i = 0; i < expected.slopes.size(); ++i) {
          largest = std::max(largest, std::abs(static_cast<double>(expected.slopes[i])));
          farthest = std::max(farthest, std::abs(static_cast<double>(found.slopes[i]) - expected.slopes[i]));
        }
        EXPECT_LE(farthest, 1e-6 * largest);
        EXPECT_EQ(found.value, again.value);
        EXPECT_EQ(found.slopes, again.slopes);
      }
}

}
}
