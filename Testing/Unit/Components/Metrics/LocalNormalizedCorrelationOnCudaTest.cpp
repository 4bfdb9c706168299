// needs: GPU
#include "Components/Metrics/LocalNormalizedCorrelation.h"

#include "Core/Compute/Memory/Buffer.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Naive/NaiveLocalCorrelation.h"
#include "Testing/Support/OnGpu/GpuTest.h"

#include <utility>

namespace tessera {
namespace {

using namespace testing;

LocalCorrelationResult evaluateOnGpu(const std::string& window, const LocalCorrelationCase& images,
                                     bool withSlopes = true)
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

  LocalNormalizedCorrelation metric(parametersOf(window, images.dimension(), 1, "Metric0"));
  metric.prepareForLevel(0, {0, 100, 0, 100});
  const std::unique_ptr<MetricOnCuda> onCuda = metric.onCuda(context);
  for (int time = 0; time < 2; ++time) { // the second evaluation must not know of the first
    onCuda->begin(context);
    onCuda->accumulate(context, lattice);
    onCuda->finish(context, result.span().data());
  }
  if (withSlopes)
    onCuda->slopes(context, lattice, slopes.span().data());

  LocalCorrelationResult found{result.toHost(context)[0].value, slopes.toHost(context)};
  for (std::size_t i = 0; i < guard; ++i)
    EXPECT_EQ(found.slopes[count + i], untouched) << "wrote behind the slopes";
  found.slopes.resize(count);
  return found;
}

/// Intensities and products are rounded to 2.4e-7 of the range. In windows of two or three positions parts of
/// slopes that are some hundred times as large cancel each other.
void expectTheNaiveResult(const std::string& window, const LocalCorrelationCase& images, double noise = 0.001)
{
  const LocalCorrelationResult found = evaluateOnGpu(window, images),
                               naive = naiveResult(window, images, noise);
  EXPECT_NEAR(found.value, naive.value, 1e-4 * std::abs(naive.value)) << describe(images) << window;
  expectSameSlopes(found.slopes, naive.slopes, 2e-4, describe(images) + window);
}

TEST(LocalNormalizedCorrelationOnCudaTest, AgreesWithANaiveLoopAtAwkwardSizes)
{
  TESSERA_NEEDS_GPU();
  for (const LocalCorrelationCase& images : awkwardCases()) {
    for (const std::string window :
         {"(LocalWindowRadius 1)", "(LocalWindowRadius 3)", "(LocalWindowSigma 0.5)", "(LocalWindowSigma 2)"})
      expectTheNaiveResult(window, images);
    // Sums over wide windows are rounded more coarsely.
    expectTheNaiveResult("(LocalWindowRadius 16)\n(LocalIntensityNoise 0.02)", images, 0.02);
  }
}

TEST(LocalNormalizedCorrelationOnCudaTest, AgreesWithANaiveLoopAcrossTiles)
{
  TESSERA_NEEDS_GPU();
  for (const double missing : {0.0, 0.1})
    for (const std::string window :
         {"(LocalWindowRadius 2)", "(LocalWindowRadius 1 3 2)", "(LocalWindowSigma 1)"})
      expectTheNaiveResult(window, LocalCorrelationCase({131, 35, 70}, missing));
}

TEST(LocalNormalizedCorrelationOnCudaTest, RepeatsItsBits)
{
  TESSERA_NEEDS_GPU();
  const LocalCorrelationCase images({131, 35, 70}, 0.1);
  for (const std::string window : {"(LocalWindowRadius 2)", "(LocalWindowSigma 1)"}) {
    const LocalCorrelationResult first = evaluateOnGpu(window, images), again = evaluateOnGpu(window, images);
    EXPECT_EQ(again.value, first.value) << window;
    EXPECT_EQ(again.slopes, first.slopes) << window;
    EXPECT_EQ(evaluateOnGpu(window, images, false).value, first.value) << window << ": value alone";
  }
}

}
}
