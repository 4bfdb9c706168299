#include "Core/Compute/Memory/DeviceMemory.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(DeviceMemory, AddsPartsOfOneName)
{
  DeviceMemory memory, others;
  memory.add("images", 100);
  memory.add("samples", 50);
  others.add("masks", 7);
  others.add("images", 1);
  memory.add(others);

  EXPECT_EQ(memory.bytes(), 158);
  ASSERT_EQ(memory.parts().size(), 3u);
  EXPECT_EQ(memory.parts()[0].name, "images");
  EXPECT_EQ(memory.parts()[0].bytes, 101);
}

TEST(DeviceMemory, TellsTheLargestPartsFirstAndLeavesOutTheSmallest)
{
  DeviceMemory memory;
  memory.add("images", 300e6);
  memory.add("results", 64);
  memory.add("samples", 1.25e9);

  EXPECT_EQ(memory.text(), "samples 1.3 GB, images 300 MB");
}

TEST(DeviceMemory, TellsPartsBelowAMegabyteTogether)
{
  DeviceMemory memory;
  memory.add("images", 0.3e6);
  memory.add("samples", 2.5e6);
  memory.add("masks", 0.9e6);

  EXPECT_EQ(memory.text(), "samples 2.5 MB, others 1.2 MB");
}

TEST(DeviceMemory, SizesAreRoundedUp)
{
  EXPECT_EQ(memoryText(0), "0 kB");
  EXPECT_EQ(memoryText(0.5), "1 byte");
  EXPECT_EQ(memoryText(1), "1 byte");
  EXPECT_EQ(memoryText(1.5), "2 bytes");
  EXPECT_EQ(memoryText(99), "99 bytes");
  EXPECT_EQ(memoryText(99.5), "0.1 kB");
  EXPECT_EQ(memoryText(100), "0.1 kB");
  EXPECT_EQ(memoryText(9.7e3), "9.7 kB");
  EXPECT_EQ(memoryText(23.01e3), "24 kB");
  EXPECT_EQ(memoryText(999e3), "999 kB");
  EXPECT_EQ(memoryText(999.1e3), "1 MB");
  EXPECT_EQ(memoryText(1.2e6), "1.2 MB");
  EXPECT_EQ(memoryText(1.2e6 + 1), "1.3 MB");
  EXPECT_EQ(memoryText(9.99e6), "10 MB");
  EXPECT_EQ(memoryText(12.1e6), "13 MB");
  EXPECT_EQ(memoryText(998.2e6), "999 MB");
  EXPECT_EQ(memoryText(999.5e6), "1.0 GB");
  EXPECT_EQ(memoryText(3.21e9), "3.3 GB");
}

}
}
