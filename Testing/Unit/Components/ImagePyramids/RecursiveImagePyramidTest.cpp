// needs: ITK
#include "Components/ImagePyramids/RecursiveImagePyramid.h"

#include "Testing/Support/Files/ItkImages.h"
#include "Testing/Support/ParameterText.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <itkRecursiveMultiResolutionPyramidImageFilter.h>

#include <limits>
#include <sstream>

using namespace tessera;
using namespace tessera::testing;

namespace {

using ItkPyramid = itk::RecursiveMultiResolutionPyramidImageFilter<ItkImage<3>, ItkImage<3>>;

ItkPyramid::Pointer itkPyramidOf(const std::string& schedule, std::size_t levels, const Image<3>& image)
{
  const auto pyramid = ItkPyramid::New();
  pyramid->SetNumberOfLevels(static_cast<unsigned>(levels));
  ItkPyramid::ScheduleType factors(static_cast<unsigned>(levels), 3u);
  std::istringstream text(schedule);
  for (unsigned level = 0; level < levels; ++level)
    for (unsigned d = 0; d < 3; ++d)
      text >> factors[level][d];
  pyramid->SetSchedule(factors);
  pyramid->SetInput(toItk<3>(image));
  pyramid->UpdateLargestPossibleRegion();
  return pyramid;
}

RecursiveImagePyramid<3> pyramidOf(const std::string& schedule, std::size_t levels)
{
  return RecursiveImagePyramid<3>(
      parametersOf("(ImagePyramidSchedule " + schedule + ")", 3, levels, "FixedImagePyramid0"),
      ImageSide::fixed);
}

void expectAsItk(const std::string& schedule, std::size_t levels, const Image<3>& image)
{
  const ItkPyramid::Pointer expected = itkPyramidOf(schedule, levels, image);
  RecursiveImagePyramid<3> pyramid = pyramidOf(schedule, levels);
  // Up to three float roundings a level, the last ones of every level before included.
  const double tolerance = 3 * static_cast<double>(levels) * std::numeric_limits<float>::epsilon()
                           * largestMagnitude(image.voxels);
  for (std::size_t level = 0; level < levels; ++level) {
    SCOPED_TRACE("schedule " + schedule + ", level " + std::to_string(level));

    const ImagePointer<3> result = pyramid.imageOfLevel(host, std::make_shared<Image<3>>(image), level);

    const Image<3> reference = fromItk<3>(*expected->GetOutput(static_cast<unsigned>(level)));
    expectSameGeometry<3>(result->geometry, reference.geometry);
    EXPECT_LE(largestDifference(result->voxels, reference.voxels), tolerance);
  }
}

}

TEST(RecursiveImagePyramidTest, AgreesWithItkOnObliqueImages)
{
  for (const Size<3>& size : {Size<3>{32, 40, 24}, {33, 38, 29}, {17, 9, 12}}) {
    const Image<3> image = noiseImage<3>(obliqueGeometry<3>(size), 9);
    expectAsItk("4 4 4 2 2 2 1 1 1", 3, image);
    expectAsItk("8 8 8 4 4 4 2 2 2 1 1 1", 4, image);
    expectAsItk("4 4 1 2 2 1 1 1 1", 3, image);
    expectAsItk("6 4 4 2 2 2 2 2 2", 3, image);
    expectAsItk("5 5 1 5 1 1", 2, image);
  }
}

TEST(RecursiveImagePyramidTest, AgreesWithItkWhereFactorsDoNotDivide)
{
  const Image<3> image = noiseImage<3>(obliqueGeometry<3>({33, 38, 29}), 9);
  expectAsItk("3 3 3 2 2 2 1 1 1", 3, image);
  expectAsItk("4 4 2 3 2 1 1 1 1", 3, image);
}

TEST(RecursiveImagePyramidTest, AgreesWithItkForManyOriginsAndSpacings)
{
  for (int shift = 0; shift < 8;
       ++shift) { // for even factors the last bits of the geometry decide which voxels are taken
    ImageGeometry<3> geometry = obliqueGeometry<3>({16, 18, 20});
    for (int d = 0; d < 3; ++d) {
      geometry.originMm[d] += 12.3 * shift;
      geometry.spacingMm[d] += 0.11 * shift;
    }
    expectAsItk("4 4 4 2 2 2 1 1 1", 3, noiseImage<3>(geometry, 9));
  }
}

TEST(RecursiveImagePyramidTest, ReturnsTheImageItselfAtALastFactorOfOne)
{
  const auto image = std::make_shared<Image<3>>(noiseImage<3>(obliqueGeometry<3>({8, 8, 8}), 1));
  EXPECT_EQ(pyramidOf("2 2 2 1 1 1", 2).imageOfLevel(host, image, 1), image);
}

TEST(RecursiveImagePyramidTest, AveragesAnImpulseByTheKernelOfFactorTwo)
{
  Image<2> image{centredGeometry<2>({9, 1}, {1, 1}), std::vector<float>(9, 0.0f)};
  image.voxels[3] = 1;
  RecursiveImagePyramid<2> pyramid(parametersOf("(ImagePyramidSchedule 2 1 1 1)", 2, 2, "FixedImagePyramid0"),
                                   ImageSide::fixed);

  const ImagePointer<2> coarse = pyramid.imageOfLevel(host, std::make_shared<Image<2>>(image), 0);

  // 9 = 2 * 4 + 1: the new origin lies at voxel 1. Kernel 0.0509 0.2118 0.4746 0.2118 0.0509 (exp(-1) I_k(1),
  // sum 1).
  const std::vector<double> expected{0.0509, 0.4746, 0.0509, 0};
  ASSERT_EQ(coarse->voxels.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(coarse->voxels[i], expected[i], 5.1e-5) << i; // four digits by hand
  EXPECT_EQ(coarse->geometry.originMm[0], image.geometry.originMm[0] + 1);
}
