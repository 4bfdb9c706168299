// needs: ITK
#include "Core/Image/Filters/Shrink.h"

#include "Components/ImagePyramids/Shared/StepTakingVoxels.h"
#include "Testing/Support/Files/ItkImages.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <gtest/gtest.h>

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
  Context context;

  const ImagePointer<D> result = filteredImage<D>(context, std::make_shared<Image<D>>(image),
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
