#include "Core/Image/Checksum.h"

#include <gtest/gtest.h>

#include <array>

namespace tessera {
namespace {

TEST(ResultChecksum, IsWhatElastixPrintsForItsRoundedParameters)
{
  // A rigid 2D registration by elastix 5.0.1: parameters of its transform file, checksum of its log.
  EXPECT_EQ(resultChecksum(std::array{-0.003685, -1.167426, -0.075706}), 1383631977u);
}

TEST(ResultChecksum, SeesSixDecimals)
{
  const std::array exact{1.5, -2.0}, close{1.5000004, -2.0000004}, other{1.500001, -2.0};
  EXPECT_EQ(resultChecksum(close), resultChecksum(exact));
  EXPECT_NE(resultChecksum(other), resultChecksum(exact));
}

TEST(ResultChecksum, DoesNotDistinguishTheSignOfZero)
{
  EXPECT_EQ(resultChecksum(std::array{-0.0, -1e-9}), resultChecksum(std::array{0.0, 0.0}));
}

}
}
