// needs: ITK
#include "Core/Image/Filters/Shrink.h"

#include "Components/ImagePyramids/Shared/PyramidSchedule.h"
#include "Core/Image/Filters/FilteredImage.h"
#include "Testing/Support/Files/ItkImages.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <itkShrinkImageFilter.h>

using namespace tessera;
using namespace tessera::testing;

namespace {

template <int D>
void expectAsItk(const Image<D>& image, const Size<D>& factors)
{
  const auto filter = itk::ShrinkImageFilter<ItkImage<D>, ItkImage<D>>::New();
  filter->SetInput(toItk<D>(image));
  for (int d = 0; d < D; ++d)
    filter->SetShrinkFactor(d, static_cast<unsigned>(factors[d]));
  filter->Update();
  const Image<D> expected = fromItk<D>(*filter->GetOutput());

  const ImagePointer<D> result = filteredImage<D>(host, std::make_shared<Image<D>>(image),
                                                  {stepTakingVoxels<D>(image.geometry, factors)});

  EXPECT_EQ(result->voxels, expected.voxels);
  expectSameGeometry<D>(result->geometry, expected.geometry);
}

}

TEST(ShrinkTest, TakesTheVoxelsOfItksFilterOnObliqueImages)
{
  for (const Size<3>& size : {Size<3>{17, 19, 23}, {16, 20, 24}, {8, 3, 1}})
    for (const Size<3>& factors : {Size<3>{1, 1, 1}, {2, 2, 2}, {4, 2, 1}, {3, 5, 8}, {8, 8, 8}})
      expectAsItk<3>(noiseImage<3>(obliqueGeometry<3>(size), 1), factors);
}

TEST(ShrinkTest, TakesTheVoxelsOfItksFilterForManyOrigins)
{
  for (int shift = 0; shift < 50; ++shift) { // for even factors the last bits of the geometry decide
    ImageGeometry<2> geometry = obliqueGeometry<2>({18, 21});
    geometry.originMm[0] += 0.7 * shift;
    geometry.spacingMm[1] += 0.013 * shift;
    expectAsItk<2>(noiseImage<2>(geometry, 1), {2, 4});
  }
}

TEST(ShrinkTest, KeepsTheCentreOfTheImage)
{
  const ImageGeometry<3> geometry = obliqueGeometry<3>({17, 20, 9});

  const ImageGeometry<3> shrunk = shrunkGrid<3>(geometry, {2, 3, 4}).geometry;

  EXPECT_EQ(shrunk.size, (Size<3>{8, 6, 2}));
  for (int d = 0; d < 3; ++d)
    EXPECT_NEAR(shrunk.centerMm()[d], geometry.centerMm()[d],
                1e-11); // roundings of coordinates around 100 mm
}

TEST(ShrinkTest, StartsHalfTheFactorInForDivisibleSizes)
{
  const ImageGeometry<2> geometry = centredGeometry<2>({12, 20}, {1.5, 2});

  const ShrunkGrid<2> grid = shrunkGrid<2>(geometry, {2, 4});

  EXPECT_EQ(grid.firstVoxel, (Size<2>{1, 2}));
  EXPECT_NEAR(grid.geometry.originMm[0], geometry.originMm[0] + 0.5 * 1.5,
              1e-12); // roundings of coordinates around 10 mm
  EXPECT_NEAR(grid.geometry.originMm[1], geometry.originMm[1] + 1.5 * 2, 1e-12);
  expectSameGeometry<2>(rescaledGeometry<2>(geometry, {2, 4}), grid.geometry);
}

TEST(ShrinkTest, TellsHowFarTheContentIsShifted)
{
  bool anyShift = false;
  for (const Size<2>& size : {Size<2>{12, 20}, {13, 20}, {13, 21}, {12, 21}})
    for (const std::size_t second : {1, 2}) {
      Image<2> ramp{centredGeometry<2>(size, {1.5, 2}), {}};
      std::vector<FilterStep<2>> steps{stepTakingVoxels<2>(ramp.geometry, {2, 3})};
      steps.push_back(stepTakingVoxels<2>(steps.back().geometry, {second, 1}));
      const Vec<2> shiftMm = contentShiftMm<2>(ramp.geometry, steps);
      for (std::size_t d = 0; d < 2; ++d) { // intensities are the places of the voxels
        ramp.voxels.clear();
        for (std::size_t y = 0; y < size[1]; ++y)
          for (std::size_t x = 0; x < size[0]; ++x)
            ramp.voxels.push_back(static_cast<float>(
                ramp.geometry.pointFromIndex()({static_cast<double>(x), static_cast<double>(y)})[d]));
        const ImagePointer<2> level = filteredImage<2>(host, std::make_shared<Image<2>>(ramp), steps);
        EXPECT_NEAR(level->geometry.originMm[d] - level->voxels[0], shiftMm[d], 1e-5) << size[0] << d;
      }
      anyShift = anyShift || shiftMm[0] != 0;
      if (size[0] % 2 == 1 && second == 1) {
        EXPECT_NEAR(shiftMm[0], 0, 1e-12);
      }
    }
  EXPECT_TRUE(anyShift);
}
