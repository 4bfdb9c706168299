// needs: ITK
#include "Core/Image/Filters/RecursiveGaussian.h"

#include "Testing/Support/Files/ItkImages.h"
#include "Testing/Support/Naive/NaiveLineFilter.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <itkRecursiveGaussianImageFilter.h>

#include <limits>

using namespace tessera;
using namespace tessera::testing;

namespace {

constexpr double floatEpsilon = std::numeric_limits<float>::epsilon();

template <int D>
Image<D> smoothedByItk(const Image<D>& image, const Vec<D>& sigmaVoxels)
{
  typename ItkImage<D>::Pointer current = toItk<D>(image);
  for (int d = 0; d < D; ++d) {
    const auto filter = itk::RecursiveGaussianImageFilter<ItkImage<D>, ItkImage<D>>::New();
    filter->SetInput(current);
    filter->SetDirection(d);
    filter->SetZeroOrder();
    filter->SetSigma(sigmaVoxels[d] * image.geometry.spacingMm[d]);
    filter->Update();
    current = filter->GetOutput();
  }
  return fromItk<D>(*current);
}

template <int D>
void expectAsItk(const Size<D>& size, const Vec<D>& sigmaVoxels)
{
  const Image<D> image = noiseImage<D>(obliqueGeometry<D>(size), 7);

  const Image<D> result = smoothRecursively<D>(host, image, sigmaVoxels);

  const double tolerance =
      2 * D * floatEpsilon * largestMagnitude(image.voxels); // two float roundings an axis here, one there
  EXPECT_LE(largestDifference(result.voxels, smoothedByItk<D>(image, sigmaVoxels).voxels), tolerance);
  EXPECT_EQ(result.geometry, image.geometry);
}

/// A row whose end values go on for `border` more voxels on both sides.
std::vector<float> extended(const std::vector<float>& row, std::size_t border)
{
  std::vector<float> longer(border, row.front());
  longer.insert(longer.end(), row.begin(), row.end());
  longer.insert(longer.end(), border, row.back());
  return longer;
}

}

TEST(RecursiveGaussianTest, AgreesWithItkAtAwkwardSizes)
{
  for (const double sigma : {0.5, 1.0, 4.0, 20.0}) {
    expectAsItk<3>({17, 19, 23}, {sigma, sigma, sigma});
    expectAsItk<3>({33, 4, 5}, {sigma, 0.5, 2.0});
    expectAsItk<2>({4, 257}, {0.5, sigma});
    expectAsItk<2>({31, 16}, {sigma, sigma});
  }
}

TEST(RecursiveGaussianTest, KeepsAConstantImage)
{
  const Image<2> image{obliqueGeometry<2>({13, 9}), std::vector<float>(13 * 9, 250.0f)};

  const Image<2> result = smoothRecursively<2>(host, image, {3, 0.5});

  for (const float value : result.voxels)
    EXPECT_NEAR(value, 250.0, 4 * floatEpsilon * 250); // two roundings an axis
}

TEST(RecursiveGaussianTest, TurnsAnImpulseIntoAGaussian)
{
  const double sigma = 3;
  Image<2> image{obliqueGeometry<2>({61, 1}), std::vector<float>(61, 0.0f)};
  image.voxels[30] = 1;

  const Image<2> result = smoothRecursively<2>(host, image, {sigma, 0});

  const double peak = 1 / (sigma * std::sqrt(2 * std::acos(-1.0)));
  for (int i = 0; i < 61; ++i)
    EXPECT_NEAR(result.voxels[i], peak * std::exp(-0.5 * (i - 30) * (i - 30) / (sigma * sigma)), 0.003 * peak)
        << i; // Deriche's fit
}

TEST(RecursiveGaussianTest, ContinuesShortLinesByTheirEndValues)
{
  for (const std::vector<float>& row : {std::vector<float>{5}, {1, 9}, {4, -2, 7}}) {
    const std::size_t border = 100, n = row.size();
    const Image<2> shortImage{obliqueGeometry<2>({n, 1}), row},
        longImage{obliqueGeometry<2>({n + 2 * border, 1}), extended(row, border)};

    const Image<2> result = smoothRecursively<2>(host, shortImage, {2, 0}),
                   reference = smoothRecursively<2>(host, longImage, {2, 0});

    for (std::size_t i = 0; i < n; ++i)
      EXPECT_NEAR(result.voxels[i], reference.voxels[border + i], 4 * floatEpsilon * 9)
          << n; // two roundings each
  }
}

TEST(RecursiveGaussianTest, IsTheFilterOfItsExponentials)
{
  for (const double sigma : {0.3, 1.0, 4.0, 20.0})
    for (const std::size_t length : {1, 2, 33, 150}) {
      const Image<2> line = noiseImage<2>(obliqueGeometry<2>({length, 1}), length);

      const Image<2> result = smoothRecursively<2>(host, line, {sigma, 0});
      const std::vector<double> expected =
          filteredByDefinition(gaussianFilter(sigma), LineEnds::constant, line.voxels);

      const double tolerance =
          (1 + sigma) * floatEpsilon * largestMagnitude(line.voxels); // of poles rounded to float
      for (std::size_t i = 0; i < length; ++i)
        ASSERT_NEAR(result.voxels[i], expected[i], tolerance) << sigma << " " << length << " " << i;
    }
}

TEST(RecursiveGaussianTest, LeavesAxesOfSigmaZero)
{
  const Image<3> image = noiseImage<3>(obliqueGeometry<3>({7, 6, 5}), 3);

  EXPECT_EQ(smoothRecursively<3>(host, image, {0, 0, 0}).voxels, image.voxels);
  EXPECT_NE(smoothRecursively<3>(host, image, {0, 1, 0}).voxels, image.voxels);
}

TEST(RecursiveGaussianTest, GivesTheSameBitsForAnyThreadCount)
{
  const Image<3> image = noiseImage<3>(obliqueGeometry<3>({37, 41, 43}), 5);
  Context one, three;
  three.threads = 3;

  EXPECT_EQ(smoothRecursively<3>(one, image, {1, 2, 3}).voxels,
            smoothRecursively<3>(three, image, {1, 2, 3}).voxels);
}
