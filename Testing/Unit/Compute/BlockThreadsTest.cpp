#include "Core/Compute/Cuda/BlockThreads.h"

#include <gtest/gtest.h>

#include <thread>

namespace tessera {
namespace {

TEST(BlockThreads, TheInnermostNumberCountsInItsOwnThreadAlone)
{
  EXPECT_EQ(BlockThreads::orUsual(256), 256);
  {
    const BlockThreads outer(128);
    EXPECT_EQ(BlockThreads::orUsual(256), 128);
    {
      const BlockThreads inner(64);
      EXPECT_EQ(BlockThreads::orUsual(256), 64);
    }
    EXPECT_EQ(BlockThreads::orUsual(256), 128);
    std::thread([] { EXPECT_EQ(BlockThreads::orUsual(256), 256); }).join();
  }
  EXPECT_EQ(BlockThreads::orUsual(256), 256);
}

TEST(BlockThreads, AStoredTableIsOfOneDeviceAndGoesByTheNumberOfItems)
{
  setBlockSizes(7, {{"adjoint", {{1000, 64}, {200000, 32}}}});
  EXPECT_EQ(blockThreads(7, "adjoint", 10, 256), 64);
  EXPECT_EQ(blockThreads(7, "adjoint", 1000, 256), 64);
  EXPECT_EQ(blockThreads(7, "adjoint", 1001, 256), 32);
  EXPECT_EQ(blockThreads(7, "adjoint", 900000, 256), 32);
  EXPECT_EQ(blockThreads(7, "prefilter", 1000, 256), 256);
  EXPECT_EQ(blockThreads(8, "adjoint", 1000, 256), 256);
  const BlockThreads forced(96);
  EXPECT_EQ(blockThreads(7, "adjoint", 1000, 256), 96);
}

}
}
