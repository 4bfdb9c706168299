
#include "Core/Image/Pictures/EdgeLines.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

using Paths = std::map<int, std::string>;

TEST(Contours, GoThroughTheMiddlesOfSides)
{
  // The sides of the pixel (1, 1) have their middles at (3, 2), (4, 3), (3, 4) and (2, 3) half pixels.
  EXPECT_EQ(contours({0, 0, 0, 0, 7, 0, 0, 0, 0}, 3), (Paths{{7, "M3 2l1 1l-1 1l-1 -1z"}}));
  EXPECT_EQ(contours({5, 5, 5}, 3), (Paths{{5, "M1 0l4 0l1 1l-1 1l-4 0l-1 -1z"}})); // up to the border
  EXPECT_EQ(contours({0, 0}, 2), Paths{});
}

TEST(Contours, HolesAndPartsAreInOnePath)
{
  const auto loops = [](const std::string& path) { return std::count(path.begin(), path.end(), 'M'); };
  EXPECT_EQ(loops(contours({1, 1, 1, 1, 0, 1, 1, 1, 1}, 3)[1]), 2); // a ring
  EXPECT_EQ(loops(contours({1, 0, 0, 1}, 2)[1]), 2);                // two that touch at a corner
  EXPECT_EQ(contours({1, 2}, 2).size(), 2U);
}

/// A disc of 20 more than what is around it, over noise of at most 1, with dark noise of 4 beside it.
Panel disc(double radius)
{
  Panel panel{120, 80, {}};
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < 120 * 80; ++i) {
    const double x = static_cast<double>(i % 120), y = static_cast<double>(i / 120),
                 noise = static_cast<double>((state = state * 1664525U + 1013904223U) >> 16) / 65536;
    panel.values.push_back(static_cast<float>(x >= 80                               ? 8 * noise
                                              : std::hypot(x - 40, y - 40) < radius ? 140 + noise
                                                                                    : 120 + noise));
  }
  return panel;
}

TEST(EdgeLines, AreThinAndOfStructuresAlone)
{
  const IndexedPicture lines = edgeLines(disc(25));
  ASSERT_EQ(lines.width, 240U);
  std::size_t onDisc = 0, elsewhere = 0;
  for (std::size_t i = 0; i < lines.pixels.size(); ++i) {
    const double x = (static_cast<double>(i % 240) + 0.5) / 2, y = (static_cast<double>(i / 240) + 0.5) / 2;
    const bool isOn = std::abs(std::hypot(x - 40.5, y - 40.5) - 25) < 1.5;
    (isOn ? onDisc : elsewhere) += lines.pixels[i] && x < 76;
    EXPECT_FALSE(lines.pixels[i] && x > 84) << x << " " << y; // noise in the dark
  }
  const double length = 2 * 2 * 3.14159 * 25; // in half pixels
  EXPECT_GT(static_cast<double>(onDisc), 0.8 * length);
  EXPECT_LT(static_cast<double>(onDisc), 1.7 * length); // one or two half pixels wide
  EXPECT_LT(elsewhere, 20U);
}

}
}
