#include "Core/Compute/Memory/LargeArrays.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera {
namespace {

/// Below and above the size from which pages are touched beforehand, with ends that lie within pages; from
/// memory that was used.
TEST(LargeArrays, VectorsAreZerosWhoeverTouchedThem)
{
  for (const std::size_t bytes : {0, 1, 4097, (16 << 20) - 1, (16 << 20) + 12345, 37 << 20})
    for (const int threads : {1, 3})
      for (int again = 0; again < 2; ++again) {
        std::vector<unsigned char> values = largeVector<unsigned char>(Context{{}, threads}, bytes);
        ASSERT_EQ(values.size(), bytes);
        EXPECT_EQ(std::count(values.begin(), values.end(), 0), static_cast<std::ptrdiff_t>(bytes)) << bytes;
        std::fill(values.begin(), values.end(), 0xff);
      }
}

TEST(LargeArrays, ArraysHoldWhatIsWritten)
{
  constexpr std::size_t count = (20 << 20) / sizeof(int) + 7;
  const auto values = largeArray<int>(count);
  for (std::size_t i = 0; i < count; ++i)
    values[i] = static_cast<int>(i);

  for (std::size_t i = 0; i < count; i += 1023)
    ASSERT_EQ(values[i], static_cast<int>(i));
}

TEST(LargeArrays, TouchingLeavesWhatLiesBesideAlone)
{
  std::vector<unsigned char> values(std::size_t(18) << 20, 7);

  touchPages(Context{{}, 2}, values.data() + 5, (std::size_t(17) << 20) + 1);

  EXPECT_TRUE(
      std::all_of(values.begin(), values.begin() + 5, [](unsigned char value) { return value == 7; }));
  EXPECT_TRUE(std::all_of(values.begin() + 6 + (std::ptrdiff_t(17) << 20), values.end(),
                          [](unsigned char value) { return value == 7; }));
}

}
}
