// needs: GPU
#include "Components/Interpolators/BSplineInterpolator.h"
#include "Components/Interpolators/LinearInterpolator.h"
#include "Components/Interpolators/NearestNeighborInterpolator.h"
#include "Core/Registration/Interpolation/InterpolatePointsOnCuda.h"

#include "Testing/Support/Checks/InterpolatorChecks.h"
#include "Testing/Support/OnGpu/GpuTest.h"
#include "Testing/Support/ParameterText.h"

#include <limits>

namespace tessera {
namespace {

using namespace testing;

/// The values that kernels compute at points.
template <int D>
struct Answers {
  std::vector<float> values;
  std::array<std::vector<float>, D> gradients;
  std::vector<std::uint8_t> inside;

  bool operator==(const Answers&) const = default;
};

template <int D>
Answers<D> answersOnCuda(Context& context, const Interpolator<D>& interpolator,
                         const std::array<std::vector<double>, D>& mm, bool withGradient)
{
  const std::size_t count = mm[0].size();
  std::array<Buffer<double>, D> points;
  std::array<const double*, D> pointMm;
  Buffer<float> values(context, count);
  std::array<Buffer<float>, D> gradients;
  std::array<float*, D> gradientsPerMm{};
  Buffer<std::uint8_t> inside(context, count);
  for (int d = 0; d < D; ++d) {
    points[d].fromHost(context, mm[d]);
    pointMm[d] = points[d].span().data();
    gradients[d] = Buffer<float>(context, count);
    gradientsPerMm[d] = withGradient ? gradients[d].span().data() : nullptr;
  }

  interpolateOnCuda<D>(context, *interpolator.onCuda(), pointMm, count, values.span().data(), gradientsPerMm,
                       withGradient ? inside.span().data() : nullptr);

  Answers<D> answers{values.toHost(context), {}, {}};
  if (withGradient) {
    answers.inside = inside.toHost(context);
    for (int d = 0; d < D; ++d)
      answers.gradients[d] = gradients[d].toHost(context);
  }
  return answers;
}

/// Scattered points, halves, the edges of the inside, and what is no place at all.
template <int D>
std::vector<Vec<D>> awkwardIndices(const Size<D>& size)
{
  std::vector<Vec<D>> indices = scatteredIndices<D>(size, 5003, 5);
  Vec<D> middle;
  for (int d = 0; d < D; ++d)
    middle[d] = 0.5 * static_cast<double>(size[d] - 1);
  for (int d = 0; d < D; ++d) {
    const double end = static_cast<double>(size[d]) - 0.5;
    for (const double x :
         {-0.5, -0.4999999999, -0.5000000001, 0.0, 0.5, end, end - 1e-9, end - 0.5, end - 1, end + 1e-9, 1e9,
          -1e9, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
      indices.push_back(middle);
      indices.back()[d] = x;
    }
  }
  return indices;
}

/// Equal bits: kernels do the operations of the CPU, none is contracted.
template <int D>
void expectTheAnswersOfTheCpu(Interpolator<D>& interpolator, const Size<D>& size, bool hasGradient)
{
  const auto image = std::make_shared<Image<D>>(noiseImage<D>(obliqueGeometry<D>(size), 21));
  Context context = makeContext({DeviceKind::cuda, 0}, 1);
  interpolator.prepareForLevel(context, image, 0);
  const Interpolated<D> expected = interpolate<D>(static_cast<const Interpolator<D>&>(interpolator),
                                                  image->geometry, awkwardIndices<D>(size));

  const Answers<D> with = answersOnCuda<D>(context, interpolator, expected.mm, true);
  const Answers<D> without = answersOnCuda<D>(context, interpolator, expected.mm, false);

  for (std::size_t i = 0; i < expected.index.size(); ++i) {
    ASSERT_EQ(with.inside[i], expected.inside[i]) << "point " << i;
    ASSERT_EQ(without.values[i], expected.valuesAlone[i]) << "point " << i;
    ASSERT_EQ(with.values[i], without.values[i]) << "point " << i;
    for (int d = 0; d < D && hasGradient; ++d)
      ASSERT_EQ(with.gradients[d][i], expected.gradients[d][i]) << "point " << i << " axis " << d;
  }
  EXPECT_EQ(answersOnCuda<D>(context, interpolator, expected.mm, true), with);
}

template <int D>
void expectAllInterpolatorsAnswerAsOnTheCpu(const Size<D>& size)
{
  for (int order = 0; order <= 5; ++order) {
    SCOPED_TRACE("order " + std::to_string(order));
    BSplineInterpolator<D> spline(
        parametersOf("(BSplineInterpolationOrder " + std::to_string(order) + ")", D));
    expectTheAnswersOfTheCpu<D>(spline, size, order > 0);
  }
  LinearInterpolator<D> linear(parametersOf("", D));
  expectTheAnswersOfTheCpu<D>(linear, size, true);
  NearestNeighborInterpolator<D> nearest(parametersOf("", D));
  expectTheAnswersOfTheCpu<D>(nearest, size, true);
}

using InterpolatorsOnCudaTest = testing::GpuTest;

TEST_F(InterpolatorsOnCudaTest, AnswerAsOnTheCpuIn3D)
{
  expectAllInterpolatorsAnswerAsOnTheCpu<3>({37, 21, 13});
  expectAllInterpolatorsAnswerAsOnTheCpu<3>({4, 1, 2});
  expectAllInterpolatorsAnswerAsOnTheCpu<3>({1, 9, 3});
  expectAllInterpolatorsAnswerAsOnTheCpu<3>({6, 7, 1});
}

TEST_F(InterpolatorsOnCudaTest, AnswerAsOnTheCpuIn2D)
{
  expectAllInterpolatorsAnswerAsOnTheCpu<2>({131, 18});
  expectAllInterpolatorsAnswerAsOnTheCpu<2>({1, 5});
  expectAllInterpolatorsAnswerAsOnTheCpu<2>({2, 1});
}

TEST_F(InterpolatorsOnCudaTest, FollowTheLevels)
{
  const auto coarse =
      std::make_shared<Image<2>>(Image<2>{{{2, 1}, {4, 4}, {0, 0}, identityMatrix<2>()}, {0, 8}});
  const auto fine =
      std::make_shared<Image<2>>(Image<2>{{{3, 1}, {2, 2}, {0, 0}, identityMatrix<2>()}, {1, 5, 9}});
  BSplineInterpolator<2> spline(parametersOf("(BSplineInterpolationOrder 3 1)", 2, 2));
  const std::array<std::vector<double>, 2> mm{{{1, 3}, {0, 0}}};

  spline.prepareForLevel(cuda, coarse, 0);
  EXPECT_EQ(spline.onCuda()->order, 3);
  spline.prepareForLevel(cuda, fine, 1);

  EXPECT_EQ(spline.onCuda()->order, 1);
  EXPECT_EQ(answersOnCuda<2>(cuda, spline, mm, false).values, (std::vector<float>{3, 7}));
}

TEST_F(InterpolatorsOnCudaTest, NoPointsAreNoWork)
{
  EXPECT_NO_THROW(interpolateOnCuda<3>(cuda, InterpolatorOnCuda<3>{}, {}, 0, nullptr, {}, nullptr));
  cuda.stream->wait();
}

}
}
