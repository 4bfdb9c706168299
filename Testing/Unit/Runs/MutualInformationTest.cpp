// needs: Runs
#include "Core/Runs/MutualInformation.h"

#include "Testing/Support/Scenes/Phantom.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using namespace testing;

template <int D>
ImageGeometry<D> gridOfInformation()
{
  return centredGeometry<D>(perAxis<D>(std::size_t(D == 2 ? 60 : 18)), perAxis<D>(1.5));
}

/// Of two functions of a point, at the points of a grid, which are all inside.
template <int D, class FixedOf, class MovingOf>
std::optional<MutualInformation> informationOf(FixedOf&& fixedOf, MovingOf&& movingOf)
{
  const ImageGeometry<D> grid = gridOfInformation<D>();
  std::vector<float> fixed;
  std::vector<Vec<D>> movingMm;
  forEachIndex<D>(grid.size, [&](const Vec<D>& index, std::size_t) {
    movingMm.push_back(grid.pointFromIndex()(index));
    fixed.push_back(static_cast<float>(fixedOf(movingMm.back())));
  });
  return mutualInformation<D>(fixed, movingMm, [&](const std::vector<Vec<D>>& pointsMm) {
    ValuesAtPoints found{{}, std::vector<std::uint8_t>(pointsMm.size(), 1)};
    for (const Vec<D>& pointMm : pointsMm)
      found.values.push_back(static_cast<float>(movingOf(pointMm)));
    return found;
  });
}

template <int D>
double alongX(const Vec<D>& pointMm)
{
  return pointMm[0];
}

template <int D>
void expectABestPlaceForOneObjectAlone()
{
  const auto same = scatteredBlobs<D>(gridOfInformation<D>(), 24, 1),
             other = scatteredBlobs<D>(gridOfInformation<D>(), 24, 2);
  const auto of = [](const auto& blobs) {
    return [&](const Vec<D>& pointMm) { return sumOf(blobs, pointMm); };
  };
  const auto inverted = [](const auto& blobs) {
    return [&](const Vec<D>& pointMm) { return 500 / (1 + sumOf(blobs, pointMm) / 100); };
  };
  const auto right = informationOf<D>(of(same), inverted(same)),
             wrong = informationOf<D>(of(same), inverted(other));
  ASSERT_TRUE(right && wrong);
  EXPECT_GT(right->nats, 1.1); // of ln 16, if all bins were as full
  EXPECT_LT(right->turnedAnyhow, 0.65);
  EXPECT_LT(right->turnedBy10Degrees, 0.9);
  EXPECT_LT(right->shifted, 0.6);
  EXPECT_LT(wrong->nats, 0.6 * right->nats);
  EXPECT_GT(wrong->shifted, 0.6);
}

TEST(MutualInformationTest, OneObjectHasAClearBestPlaceAndTwoHaveNone)
{
  expectABestPlaceForOneObjectAlone<2>();
  expectABestPlaceForOneObjectAlone<3>();
}

TEST(MutualInformationTest, ARoundObjectKeepsItInAllTurns)
{
  const Blob<3> ball{{}, {6, 6, 6}};
  const auto found = informationOf<3>(ball, ball);
  ASSERT_TRUE(found);
  EXPECT_GT(found->turnedAnyhow, 0.95); // bins have edges
  EXPECT_GT(found->turnedBy10Degrees, 0.95);
  EXPECT_LT(found->shifted, 0.7);
}

TEST(MutualInformationTest, ThereIsNoneWithoutContrastOrWithoutPointsInside)
{
  EXPECT_FALSE(informationOf<2>(alongX<2>, [](const Vec<2>&) { return 7; }));
  EXPECT_FALSE(mutualInformation<2>({1, 2}, {{}, {}}, [](const auto&) {
    return ValuesAtPoints{{1, 2}, {0, 0}};
  }));
}

}
}
