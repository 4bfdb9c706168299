#include "Testing/Support/Files/ResultPixels.h"

namespace tessera {
namespace {

TEST(ResultPixels, AreTheRoundedFloats)
{
  for (const int threads : {1, 3}) {
    Context context{{}, threads};
    testing::expectRoundedFloats(context, 1);
  }
}

TEST(ResultPixels, ValuesThatRoundToNoNumberOfTheTypeAreClampedAndCounted)
{
  const std::vector<float> values{
      -0.5f, -0.51f, 0, 255.49f, 255.5f, 70000, std::numeric_limits<float>::quiet_NaN()};
  std::vector<std::byte> pixels(values.size() * sizeof(double));
  EXPECT_EQ(toPixels(values, PixelType::uint8, pixels.data()), 3u);
  EXPECT_EQ(toPixels(values, PixelType::int16, pixels.data()), 1u);
  EXPECT_EQ(toPixels(values, PixelType::int8, pixels.data()), 3u);
  EXPECT_EQ(toPixels(values, PixelType::uint64, pixels.data()), 1u);
  EXPECT_EQ(toPixels(values, PixelType::float64, pixels.data()), 0u);
}

}
}
