// needs: GPU
#include "Core/Image/Filters/BSplinePrefilter.h"
#include "Core/Image/Filters/LineFilterOnCuda.h"
#include "Core/Image/Filters/RecursiveGaussian.h"

#include "Testing/Support/Naive/NaiveLineFilter.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <limits>

namespace tessera {
namespace {

using namespace testing;

constexpr double floatEpsilon = std::numeric_limits<float>::epsilon();
constexpr std::size_t guard = 256;
constexpr float untouched = -4321;

template <int D>
Image<D> noise(const Size<D>& size)
{
  return noiseImage<D>(centredGeometry<D>(size, perAxis<D>(1.0)), 11);
}

/// The values that `filter` writes into an array of `count` values with guards around it.
template <class FilterFunction>
std::vector<float> written(Context& context, std::size_t count, FilterFunction&& filter)
{
  Buffer<float> out(context, count + 2 * guard);
  out.fromHost(context, std::vector<float>(count + 2 * guard, untouched));
  filter(out.span().data() + guard);
  const std::vector<float> all = out.toHost(context);
  for (std::size_t i = 0; i < guard; ++i) {
    EXPECT_EQ(all[i], untouched) << guard - i << " before";
    EXPECT_EQ(all[guard + count + i], untouched) << i << " behind";
  }
  return {all.begin() + guard, all.end() - guard};
}

template <int D>
void expectPrefilterAsOnTheHost(const Size<D>& size, int order)
{
  Context host, context = makeContext({DeviceKind::cuda, 0}, 1);
  const Image<D> image = noise<D>(size);
  std::vector<double> expected(image.voxels.begin(), image.voxels.end());
  bsplineDecompose<D>(Context{}, expected, size, order);
  Buffer<float> voxels;
  voxels.fromHost(context, image.voxels);

  const std::vector<float> result =
      bsplineCoefficientsOnCuda<D>(context, voxels.span().data(), size, order).toHost(context);
  const std::vector<float> again =
      bsplineCoefficientsOnCuda<D>(context, voxels.span().data(), size, order).toHost(context);

  // some roundings an axis, amplified by later axes
  EXPECT_LE(largestDifference(result, expected), 16 * D * floatEpsilon * largestMagnitude(expected))
      << "order " << order << " size " << size[0] << " " << size[1];
  EXPECT_EQ(result, again);
  EXPECT_EQ(voxels.toHost(context), image.voxels);
}

/// Lines along one axis of a volume, one by one by the definition.
std::vector<double> filteredAlong(const ExponentialFilter& filter, LineEnds ends, const LinesOnCuda& lines,
                                  const std::vector<float>& values)
{
  std::vector<double> result(values.size());
  for (std::size_t outer = 0; outer < lines.outer; ++outer)
    for (std::size_t inner = 0; inner < lines.stride; ++inner) {
      const std::size_t first = outer * lines.length * lines.stride + inner;
      std::vector<float> line;
      for (std::size_t i = 0; i < lines.length; ++i)
        line.push_back(values[first + i * lines.stride]);
      const std::vector<double> filtered = filteredByDefinition(filter, ends, line);
      for (std::size_t i = 0; i < lines.length; ++i)
        result[first + i * lines.stride] = filtered[i];
    }
  return result;
}

constexpr std::size_t lengths[] = {1, 2, 3, 5, 15, 16, 17, 33, 255, 512, 700, 1024, 1025, 1500};

/// Few lines of each length, along each axis.
std::vector<LinesOnCuda> awkwardLines()
{
  std::vector<LinesOnCuda> lines;
  for (const std::size_t length : lengths) {
    lines.push_back({3, length, 1});
    lines.push_back({2, length, 17});
    lines.push_back({1, length, 33});
  }
  lines.push_back({1, 20000, 1});
  return lines;
}

std::vector<float> noiseOf(const LinesOnCuda& lines)
{
  return noise<2>({lines.lineCount(), lines.length}).voxels;
}

}

using LineFiltersOnCudaTest = testing::GpuTest;

TEST_F(LineFiltersOnCudaTest, PrefilterAgreesWithTheHostAtAwkwardSizes)
{
  for (int order = 2; order <= 5; ++order) {
    expectPrefilterAsOnTheHost<3>({17, 19, 23}, order);
    expectPrefilterAsOnTheHost<3>({2, 33, 1}, order);
    expectPrefilterAsOnTheHost<3>({1, 1, 1}, order);
    expectPrefilterAsOnTheHost<3>({65, 3, 130}, order);
    expectPrefilterAsOnTheHost<2>({5, 1500}, order);
    expectPrefilterAsOnTheHost<2>({1500, 5}, order);
    expectPrefilterAsOnTheHost<2>({20000, 2}, order);
    expectPrefilterAsOnTheHost<2>({257, 511}, order);
  }
}

TEST_F(LineFiltersOnCudaTest, GaussianIsWhatItsExponentialsDefine)
{
  for (const LinesOnCuda& lines : awkwardLines())
    for (const double sigma : {0.01, 0.3, 1.0, 4.0, 20.0, 90.0}) {
      const ExponentialFilter filter = gaussianFilter(sigma);
      const std::vector<float> values = noiseOf(lines);
      const double tolerance =
          (8 + sigma) * floatEpsilon * largestMagnitude(values); // some roundings, and those of poles
      Buffer<float> in;
      in.fromHost(cuda, values);
      const auto filterInto = [&](float* out) {
        filterLinesOnCuda(cuda, filter, LineEnds::constant, lines, in.span().data(), out);
      };

      const std::vector<float> result = written(cuda, values.size(), filterInto),
                               again = written(cuda, values.size(), filterInto);
      filterInto(in.span().data());

      const std::vector<double> expected = filteredAlong(filter, LineEnds::constant, lines, values);
      for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(result[i], expected[i], tolerance)
            << sigma << " " << lines.length << " " << lines.stride << " at " << i;
      EXPECT_EQ(result, again);
      EXPECT_EQ(result, in.toHost(cuda)) << "in place";
    }
}

TEST_F(LineFiltersOnCudaTest, KeepsPlacesOfTheFilteredLines)
{
  const ExponentialFilter filter = gaussianFilter(1.5);
  for (const LinesOnCuda& lines : awkwardLines())
    for (const std::size_t step : {2, 3, 4, 8, 32, 100}) {
      const std::vector<float> values = noiseOf(lines);
      const KeptPlaces kept{std::max<std::size_t>(1, lines.length / step), step, (step - 1) / 2,
                            step % 2 == 0 ? std::array{0.5f, 0.5f} : std::array{1.0f, 0.0f}};
      Buffer<float> in;
      in.fromHost(cuda, values);

      const std::vector<float> whole = written(cuda, values.size(), [&](float* out) {
        filterLinesOnCuda(cuda, filter, LineEnds::constant, lines, in.span().data(), out);
      });
      const std::vector<float> result = written(cuda, lines.lineCount() * kept.count, [&](float* out) {
        filterLinesOnCuda(cuda, filter, LineEnds::constant, lines, kept, in.span().data(), out);
      });

      const auto at = [&](std::size_t outer, std::size_t place, std::size_t inner) {
        return whole[(outer * lines.length + std::min(place, lines.length - 1)) * lines.stride + inner];
      };
      for (std::size_t outer = 0; outer < lines.outer; ++outer)
        for (std::size_t i = 0; i < kept.count; ++i)
          for (std::size_t inner = 0; inner < lines.stride; ++inner) {
            const std::size_t place = kept.first + step * i;
            const float expected =
                kept.weights[0] * at(outer, place, inner) + kept.weights[1] * at(outer, place + 1, inner);
            ASSERT_EQ(result[(outer * kept.count + i) * lines.stride + inner],
                      expected) // halves: the sum is rounded once
                << step << " " << lines.length << " " << lines.stride << " at " << i;
          }
    }
}

}
