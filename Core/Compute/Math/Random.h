#pragma once

#include "Core/Compute/HostDevice.h"

#include <array>
#include <cmath>
#include <cstdint>

namespace tessera {

/// The key of a counter-based random number generator. Draws with equal keys give equal numbers on every
/// device, in whatever order the samples are made.
struct Draw {
  std::uint64_t seed = 121212;
  std::uint32_t stage = 0;
  std::uint32_t level = 0;
  std::uint32_t iteration = 0;
};

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
TESSERA_HOST_DEVICE inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                                               std::uint32_t key0, std::uint32_t key1)
{
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = 0xD2511F53ull * counter[0];
    const std::uint64_t product1 = 0xCD9E8D57ull * counter[2];
    counter = {
        static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key0, static_cast<std::uint32_t>(product1),
        static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key1, static_cast<std::uint32_t>(product0)};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

/// Four random words for sample `sample` (below 2^32) and attempt `attempt` of a draw.
TESSERA_HOST_DEVICE inline std::array<std::uint32_t, 4> randomWords(const Draw& draw, std::uint32_t sample,
                                                                    std::uint32_t attempt)
{
  const std::uint32_t key0 = static_cast<std::uint32_t>(draw.seed) ^ (draw.stage * 0x85EBCA6Bu);
  const std::uint32_t key1 = static_cast<std::uint32_t>(draw.seed >> 32) ^ (draw.level * 0xC2B2AE35u);
  return philox({sample, attempt, draw.iteration, draw.stage * 64u + draw.level}, key0, key1);
}

/// A number in [0, 1) from 32 random bits.
TESSERA_HOST_DEVICE inline double unitUniform(std::uint32_t word)
{
  return word * (1.0 / 4294967296.0);
}

/// Two independent standard normal numbers from two words (Box and Muller).
inline std::array<double, 2> standardNormals(std::uint32_t word0, std::uint32_t word1)
{
  const double radius = std::sqrt(-2.0 * std::log((word0 + 0.5) * (1.0 / 4294967296.0)));
  const double angle = 6.283185307179586 * unitUniform(word1);
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

}
