// needs: ITK
#include "Components/ImagePyramids/GenericImagePyramid.h"

#include "Core/Image/Filters/RecursiveGaussian.h"
#include "Core/Image/Filters/Shrink.h"
#include "Testing/Support/Files/ItkImages.h"
#include "Testing/Support/ParameterText.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <itkIdentityTransform.h>
#include <itkLinearInterpolateImageFunction.h>
#include <itkResampleImageFilter.h>
#include <itkShrinkImageFilter.h>
#include <itkSmoothingRecursiveGaussianImageFilter.h>

#include <limits>

using namespace tessera;
using namespace tessera::testing;

namespace {

using ItkFilter = itk::ImageToImageFilter<ItkImage<3>, ItkImage<3>>;

ImagePointer<3> levelOf(const std::string& text, std::size_t levels, const Image<3>& image, std::size_t level)
{
  GenericImagePyramid<3> pyramid(parametersOf(text, 3, levels, "FixedImagePyramid0"), ImageSide::fixed);
  return pyramid.imageOfLevel(host, std::make_shared<Image<3>>(image), level);
}

ItkImage<3>::Pointer smoothedByItk(const Image<3>& image, const Vec<3>& sigmaMm)
{
  using Smoother = itk::SmoothingRecursiveGaussianImageFilter<ItkImage<3>, ItkImage<3>>;
  Smoother::SigmaArrayType sigmas;
  std::copy(sigmaMm.begin(), sigmaMm.end(), sigmas.Begin());
  const auto smoother = Smoother::New();
  smoother->SetInput(toItk<3>(image));
  smoother->SetSigmaArray(sigmas);
  smoother->Update();
  return smoother->GetOutput();
}

ItkFilter::Pointer resampler(const ImageGeometry<3>& geometry)
{
  const auto filter = itk::ResampleImageFilter<ItkImage<3>, ItkImage<3>>::New();
  filter->SetOutputParametersFromImage(
      toItk<3>(Image<3>{geometry, std::vector<float>(geometry.voxelCount())}));
  filter->SetTransform(itk::IdentityTransform<double, 3>::New());
  filter->SetInterpolator(itk::LinearInterpolateImageFunction<ItkImage<3>, double>::New());
  filter->SetDefaultPixelValue(0);
  return filter.GetPointer();
}

ItkFilter::Pointer shrinker(const Size<3>& factors)
{
  const auto filter = itk::ShrinkImageFilter<ItkImage<3>, ItkImage<3>>::New();
  for (int d = 0; d < 3; ++d)
    filter->SetShrinkFactor(d, static_cast<unsigned>(factors[d]));
  return filter.GetPointer();
}

void expectAsItk(const Image<3>& result, ItkFilter::Pointer rescaler, const ItkImage<3>::Pointer& smoothed,
                 double scale)
{
  rescaler->SetInput(smoothed);
  rescaler->Update();
  const Image<3> expected = fromItk<3>(*rescaler->GetOutput());
  expectSameGeometry<3>(result.geometry, expected.geometry);
  const double tolerance =
      12 * std::numeric_limits<float>::epsilon() * scale; // two or three float roundings an axis and filter
  EXPECT_LE(largestDifference(result.voxels, expected.voxels), tolerance);
}

const Image<3> image = noiseImage<3>(obliqueGeometry<3>({17, 20, 26}), 9);
const Vec<3> spacing = image.geometry.spacingMm;

}

TEST(GenericImagePyramidTest, InterpolatesTheSmoothedImageLinearlyByDefault)
{
  const std::string text = "(ImagePyramidRescaleSchedule 4 3 2 1 1 1)";

  const ImagePointer<3> result = levelOf(text, 2, image, 0);

  const auto smoothed =
      smoothedByItk(image, {2 * spacing[0], 1.5 * spacing[1], 1 * spacing[2]}); // half the shrunk spacing
  expectAsItk(*result, resampler(rescaledGeometry<3>(image.geometry, {4, 3, 2})), smoothed,
              largestMagnitude(image.voxels));
}

TEST(GenericImagePyramidTest, TakesVoxelsIfAsked)
{
  const std::string text =
      "(FixedImagePyramidRescaleSchedule 4 3 2 1 1 1)\n(ImagePyramidUseShrinkImageFilter \"true\")\n"
      "(ImagePyramidSmoothingSchedule 5.5 4.5 3.5 1 1 1)";

  const ImagePointer<3> result = levelOf(text, 2, image, 0);

  expectAsItk(*result, shrinker({4, 3, 2}), smoothedByItk(image, {5.5, 4.5, 3.5}),
              largestMagnitude(image.voxels));
}

TEST(GenericImagePyramidTest, GivesZeroWhereTheOneVoxelLeftLiesOutside)
{
  const Image<3> thin = noiseImage<3>(centredGeometry<3>({16, 16, 4}, {1, 2, 0.5}),
                                      2); // its points are exact: factor 8 is a tie
  for (const std::string factor : {"4", "7", "8", "9"}) {
    const std::string text =
        "(ImagePyramidSchedule 2 2 " + factor + ")\n(ImagePyramidSmoothingSchedule 1 1 1)";

    const ImagePointer<3> result = levelOf(text, 1, thin, 0);

    expectAsItk(*result, resampler(rescaledGeometry<3>(thin.geometry, {2, 2, std::stoul(factor)})),
                smoothedByItk(thin, {1, 1, 1}), largestMagnitude(thin.voxels));
  }
}

TEST(GenericImagePyramidTest, LeavesTheFinestLevelAsItIsByDefault)
{
  GenericImagePyramid<3> pyramid(parametersOf("(NumberOfResolutions 2)", 3, 2, "FixedImagePyramid0"),
                                 ImageSide::fixed);
  const auto original = std::make_shared<Image<3>>(image);

  EXPECT_EQ(pyramid.imageOfLevel(host, original, 1), original);
  EXPECT_EQ(pyramid.scheduleOfLevel(0), (Vec<3>{2, 2, 2}));
}

TEST(GenericImagePyramidTest, NeverSmoothsALevelMoreThanTheOneBefore)
{
  const std::string text =
      "(ImagePyramidRescaleSchedule 1 1 1 1 1 1)\n(ImagePyramidSmoothingSchedule 1 2 0 4 1 3)";

  EXPECT_EQ(levelOf(text, 2, image, 1)->voxels,
            smoothRecursively<3>(host, image, {1 / spacing[0], 1 / spacing[1], 0}).voxels);
}

TEST(GenericImagePyramidTest, DoesNothingIfNothingIsRescaledAndNoSmoothingIsGiven)
{
  const std::string text = "(ImagePyramidRescaleSchedule 1 1 1 1 1 1)";

  EXPECT_EQ(levelOf(text, 2, image, 0)->voxels, image.voxels);
}
