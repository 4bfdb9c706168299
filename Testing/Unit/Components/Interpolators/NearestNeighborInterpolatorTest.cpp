// needs: ITK
#include "Components/Interpolators/NearestNeighborInterpolator.h"

#include "Testing/Support/Checks/InterpolatorChecks.h"
#include "Testing/Support/Files/ItkImages.h"
#include "Testing/Support/ParameterText.h"

#include <itkGradientImageFilter.h>
#include <itkNearestNeighborInterpolateImageFunction.h>

#include <limits>

using namespace tessera;
using namespace tessera::testing;

TEST(NearestNeighborInterpolatorTest, AgreesWithItkInValueAndGradient)
{
  const Image<3> image = noiseImage<3>(obliqueGeometry<3>({17, 11, 13}), 2);
  const auto itkImage = toItk<3>(image);
  const auto reference = itk::NearestNeighborInterpolateImageFunction<ItkImage<3>, double>::New();
  reference->SetInputImage(itkImage);
  const auto gradientFilter = itk::GradientImageFilter<ItkImage<3>, double, double>::New();
  gradientFilter->SetInput(itkImage);
  gradientFilter->Update();
  std::vector<Vec<3>> indices = scatteredIndices<3>(image.geometry.size, 2000, 3);
  NearestNeighborInterpolator<3> interpolator(parametersOf("(X 1)"));

  const Interpolated<3> result = interpolate<3>(interpolator, image, indices);

  const double tolerance =
      2 * std::numeric_limits<float>::epsilon() * largestMagnitude(image.voxels); // rounded to float once
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const ItkImage<3>::PointType point(result.pointMm(i).data());
    ASSERT_EQ(result.inside[i] != 0, reference->IsInsideBuffer(point)) << i;
    if (!result.inside[i])
      continue;
    ItkImage<3>::IndexType nearest;
    reference->ConvertPointToNearestIndex(point, nearest);
    ASSERT_EQ(result.values[i], reference->Evaluate(point)) << i;
    const auto gradient = gradientFilter->GetOutput()->GetPixel(nearest);
    for (int d = 0; d < 3; ++d)
      ASSERT_NEAR(result.gradients[d][i], gradient[d], tolerance) << i;
  }
}

TEST(NearestNeighborInterpolatorTest, RoundsHalvesUpAndTakesCentralDifferences)
{
  const Image<2> row{{{3, 1}, {2, 1}, {0, 0}, identityMatrix<2>()}, {1, 4, 9}};
  NearestNeighborInterpolator<2> interpolator(parametersOf("(X 1)", 2));

  const Interpolated<2> result =
      interpolate<2>(interpolator, row, {{0.5, 0}, {0.49, 0}, {1.5, 0}, {-0.5, 0}, {2.5, 0}});

  EXPECT_EQ(result.values, (std::vector<float>{4, 1, 9, 1, 0}));
  EXPECT_EQ(result.gradients[0],
            (std::vector<float>{2, 0.75f, 1.25f, 0.75f, 0})); // (9 - 1) / 4 mm; half weight at borders
  EXPECT_EQ(result.inside, (std::vector<std::uint8_t>{1, 1, 1, 1, 0}));
}
