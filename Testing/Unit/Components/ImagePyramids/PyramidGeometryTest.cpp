#include "Components/ImagePyramids/GenericImagePyramid.h"
#include "Components/ImagePyramids/RecursiveImagePyramid.h"
#include "Components/ImagePyramids/ShrinkingImagePyramid.h"
#include "Components/ImagePyramids/SmoothingImagePyramid.h"
#include "Testing/Support/ParameterText.h"
#include "Testing/Support/Scenes/NoiseImage.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using namespace testing;

/// The geometry planned by geometryOfLevel must be that of the image from imageOfLevel.
template <template <int> class Pyramid, int D>
void expectGeometryOfImages(const Size<D>& size, const std::string& text)
{
  constexpr std::size_t levels = 3;
  const auto original = std::make_shared<Image<D>>(noiseImage<D>(obliqueGeometry<D>(size), 3));
  Pyramid<D> pyramid(parametersOf(text, D, levels, "FixedImagePyramid0"), ImageSide::fixed);
  for (std::size_t level = 0; level < levels; ++level)
    EXPECT_EQ(pyramid.geometryOfLevel(original->geometry, level),
              pyramid.imageOfLevel(host, original, level)->geometry)
        << text << ", level " << level;
}

template <template <int> class Pyramid>
void expectGeometryOfImages()
{
  for (const char* text :
       {"", "(ImagePyramidSchedule 4 3 2 2 3 1 1 1 1)", "(ImagePyramidSchedule 5 4 2 2 2 2 1 1 1)",
        "(ImagePyramidRescaleSchedule 4 2 3 2 1 3 1 1 1)",
        "(ImagePyramidRescaleSchedule 4 2 3 2 1 3 1 1 1)\n(ImagePyramidUseShrinkImageFilter \"true\")"})
    expectGeometryOfImages<Pyramid, 3>({23, 17, 9}, text);
  for (const char* text :
       {"", "(ImagePyramidSchedule 4 3 2 2 1 1)", "(ImagePyramidRescaleSchedule 30 2 2 2 1 1)"})
    expectGeometryOfImages<Pyramid, 2>({29, 18}, text);
}

TEST(PyramidGeometry, OfASmoothingPyramidIsThatOfItsImages)
{
  expectGeometryOfImages<SmoothingImagePyramid>();
}

TEST(PyramidGeometry, OfAShrinkingPyramidIsThatOfItsImages)
{
  expectGeometryOfImages<ShrinkingImagePyramid>();
}

TEST(PyramidGeometry, OfARecursivePyramidIsThatOfItsImages)
{
  expectGeometryOfImages<RecursiveImagePyramid>();
}

TEST(PyramidGeometry, OfAGenericPyramidIsThatOfItsImages)
{
  expectGeometryOfImages<GenericImagePyramid>();
}

}
}
