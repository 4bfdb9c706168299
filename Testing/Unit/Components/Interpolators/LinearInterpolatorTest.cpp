// needs: ITK
#include "Components/Interpolators/LinearInterpolator.h"

#include "Testing/Support/Checks/InterpolatorChecks.h"
#include "Testing/Support/Files/ItkImages.h"
#include "Testing/Support/ParameterText.h"

#include <itkLinearInterpolateImageFunction.h>

#include <limits>

using namespace tessera;
using namespace tessera::testing;

namespace {

constexpr double floatEpsilon = std::numeric_limits<float>::epsilon();

template <int D>
void expectAsItk(const Size<D>& size)
{
  using Reference = itk::LinearInterpolateImageFunction<ItkImage<D>, double>;
  const Image<D> image = noiseImage<D>(obliqueGeometry<D>(size), 2);
  const auto itkImage = toItk<D>(image);
  const auto reference = Reference::New();
  reference->SetInputImage(itkImage);
  LinearInterpolator<D> interpolator(parametersOf("(X 1)", D), InterpolatorUse::resampling);

  const Interpolated<D> result = interpolate<D>(interpolator, image, scatteredIndices<D>(size, 2000, 3));

  const double tolerance =
      3 * D * floatEpsilon * largestMagnitude(image.voxels); // three float operations an axis
  for (std::size_t i = 0; i < result.index.size(); ++i) {
    const typename Reference::PointType point(result.pointMm(i).data());
    ASSERT_EQ(result.inside[i] != 0, reference->IsInsideBuffer(point)) << i;
    ASSERT_NEAR(result.values[i], result.inside[i] ? reference->Evaluate(point) : 0, tolerance) << i;
  }
}

/// One row 1 4 9 along x, spacing 2 mm.
LinearInterpolator<2> rowInterpolator(InterpolatorUse use = InterpolatorUse::matching)
{
  LinearInterpolator<2> interpolator(parametersOf("(X 1)", 2), use);
  interpolator.prepareForLevel(
      host, std::make_shared<Image<2>>(Image<2>{{{3, 1}, {2, 1}, {0, 0}, identityMatrix<2>()}, {1, 4, 9}}),
      0);
  return interpolator;
}

struct Answer {
  float value, slope;
  bool inside;
};

Answer answerAt(const LinearInterpolator<2>& interpolator, double xMm)
{
  const double yMm = 0;
  float value, slopes[2], *gradients[2] = {&slopes[0], &slopes[1]};
  std::uint8_t inside;
  interpolator.evaluate(host, {{&xMm, &yMm}, 1}, &value, gradients, &inside);
  return {value, slopes[0], inside != 0};
}

}

TEST(LinearInterpolatorTest, AgreesWithItkWhenResampling)
{
  expectAsItk<3>({17, 11, 13});
  expectAsItk<3>({4, 1, 2});
  expectAsItk<2>({31, 8});
  expectAsItk<4>({8, 7, 6, 5});
}

TEST(LinearInterpolatorTest, MatchesValuesAndSlopesComputedByHand)
{
  const LinearInterpolator<2> interpolator = rowInterpolator();

  EXPECT_EQ(answerAt(interpolator, 1).value, 2.5f);
  EXPECT_EQ(answerAt(interpolator, 1).slope, 1.5f); // 3 in 2 mm
  EXPECT_EQ(answerAt(interpolator, 2.5).value, 5.25f);
  EXPECT_EQ(answerAt(interpolator, 2.5).slope, 2.5f);
}

TEST(LinearInterpolatorTest, TakesTheCellBeforeTheLastVoxelThere)
{
  EXPECT_EQ(answerAt(rowInterpolator(), 4).value, 9.0f);
  EXPECT_EQ(answerAt(rowInterpolator(), 4).slope, 2.5f);
}

TEST(LinearInterpolatorTest, MirrorsTheImageBeyondTheBorderWhileMatching)
{
  const LinearInterpolator<2> interpolator = rowInterpolator();

  EXPECT_EQ(answerAt(interpolator, -0.5).value, 1.75f);
  EXPECT_EQ(answerAt(interpolator, -0.5).slope, -1.5f);
  EXPECT_EQ(answerAt(interpolator, 4.5).value, 7.75f);
  EXPECT_EQ(answerAt(interpolator, 4.5).slope, -2.5f);
}

TEST(LinearInterpolatorTest, RepeatsTheBorderVoxelWhileResampling)
{
  const LinearInterpolator<2> interpolator = rowInterpolator(InterpolatorUse::resampling);

  EXPECT_EQ(answerAt(interpolator, -0.5).value, 1.0f);
  EXPECT_EQ(answerAt(interpolator, 4.5).value, 9.0f);
}

TEST(LinearInterpolatorTest, EndsHalfAVoxelBeyondTheBorder)
{
  const LinearInterpolator<2> interpolator = rowInterpolator();

  EXPECT_TRUE(answerAt(interpolator, -1).inside);
  EXPECT_TRUE(answerAt(interpolator, 4.99).inside);
  for (const double outside : {-1.01, 5.0, 1e300, -1e300, std::nan("")}) {
    const Answer answer = answerAt(interpolator, outside);
    EXPECT_FALSE(answer.inside) << outside;
    EXPECT_EQ(answer.value, 0) << outside;
    EXPECT_EQ(answer.slope, 0) << outside;
  }
}

TEST(LinearInterpolatorTest, HasTheGradientOfItsValues)
{
  const Image<3> image = noiseImage<3>(obliqueGeometry<3>({9, 8, 7}), 5);
  LinearInterpolator<3> interpolator(parametersOf("(X 1)"));
  const std::vector<Vec<3>> indices{{3.3, 4.4, 5.6}, {0.2, 6.7, 3.5}, {-0.3, 3.2, 6.3}};
  const Interpolated<3> result = interpolate<3>(interpolator, image, indices);
  const double stepMm = 0.0625; // stays in the cell, where the value is linear along each axis of the image
  for (std::size_t i = 0; i < indices.size(); ++i)
    for (int axis = 0; axis < 3; ++axis) {
      std::vector<Vec<3>> ends{indices[i], indices[i]};
      ends[0][axis] -= stepMm / image.geometry.spacingMm[axis];
      ends[1][axis] += stepMm / image.geometry.spacingMm[axis];
      const Interpolated<3> moved = interpolate<3>(interpolator, image, ends);
      double along = 0; // gradient times the unit direction of the index axis
      for (int d = 0; d < 3; ++d)
        along += result.gradients[d][i] * image.geometry.direction[d][axis];

      const double slope = (static_cast<double>(moved.values[1]) - moved.values[0]) / (2 * stepMm);

      EXPECT_NEAR(along, slope, 16 * floatEpsilon * largestMagnitude(image.voxels) / stepMm)
          << i << " " << axis; // roundings over the step
    }
}
