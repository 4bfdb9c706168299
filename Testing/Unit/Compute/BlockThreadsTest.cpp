#include "Core/Compute/Performance/BlockThreads.h"

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

}
}
