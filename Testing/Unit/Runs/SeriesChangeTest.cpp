// needs: Runs
#include "Core/Runs/Following/SeriesChange.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

TEST(SeriesChange, MeansDeviationsAndDvarsByHand)
{
  // Voxel 0 is dark, and voxel 3 is missing once.
  const std::vector<std::vector<float>> volumes{{0, 100, 200, 90}, {1, 104, 197, 0}, {}, {2, 102, 203, 90}};
  const SeriesChange change =
      changeOf(4, 4, [&](std::size_t i) { return std::span<const float>(volumes[i]); });
  EXPECT_EQ(change.mean, (std::vector<float>{1, 102, 200, 60}));
  EXPECT_FLOAT_EQ(change.deviation[1], std::sqrt(8.0F / 3));
  EXPECT_EQ(change.inside, (std::vector<std::size_t>{1, 2}));
  ASSERT_EQ(change.dvarsPercent.size(), 4u);
  EXPECT_TRUE(std::isnan(change.dvarsPercent[0]));
  EXPECT_NEAR(change.dvarsPercent[1], 100 / 151.0 * std::sqrt((16 + 9) / 2.0), 1e-9);
  EXPECT_TRUE(std::isnan(change.dvarsPercent[2])); // no result
  EXPECT_TRUE(std::isnan(change.dvarsPercent[3])); // none before it
}

TEST(SeriesChange, ASeriesWithoutContrastOrResultHasNoDvars)
{
  const std::vector<float> flat(5, 7);
  const SeriesChange constant = changeOf(3, 5, [&](std::size_t) { return std::span<const float>(flat); }),
                     none = changeOf(3, 5, [&](std::size_t) { return std::span<const float>(); });
  for (const SeriesChange* change : {&constant, &none})
    for (const double value : change->dvarsPercent)
      EXPECT_TRUE(std::isnan(value));
}

}
}
