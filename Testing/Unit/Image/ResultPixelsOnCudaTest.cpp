// needs: GPU
#include "Core/Image/Voxels/PixelRounding.h"

#include "Core/Compute/Math/Random.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Testing/Support/OnGpu/GpuTest.h"

#include <cmath>

namespace tessera {
namespace {

/// Ties, neighbours of ties, ends of ranges and what is no number, then fractions of every magnitude.
std::vector<float> awkwardValues(std::size_t count)
{
  std::vector<float> values{NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1e30f, -1e30f};
  for (const float end : {0.0f, 1.0f, 2.0f, 127.0f, 128.0f, 255.0f, 32767.0f, 32768.0f, 65535.0f, 8388607.0f,
                          2147483648.0f, 4294967296.0f, 9223372036854775808.0f, 18446744073709551616.0f})
    for (const float near : {end - 0.5f, end, end + 0.5f})
      for (const float value : {std::nextafter(near, -INFINITY), near, std::nextafter(near, INFINITY)}) {
        values.push_back(value);
        values.push_back(-value);
      }
  for (std::uint32_t i = 0; values.size() < count; ++i) {
    const auto words = randomWords(Draw{}, i, 0);
    values.push_back(
        std::ldexp(static_cast<float>(unitUniform(words[0])) - 0.5f, static_cast<int>(words[1] % 70)));
  }
  values.resize(count);
  return values;
}

using ResultPixelsOnCuda = testing::GpuTest;

TEST_F(ResultPixelsOnCuda, AreRoundedToTheBitsOfTheCpu)
{
  for (const std::size_t count : {1, 3, 4, 5, 1023, 100003})
    for (const PixelType type : allPixelTypes) {
      std::vector<float> host = awkwardValues(count);
      if (type == PixelType::float32 || type == PixelType::float64)
        host[0] = 1; // the bits of what is no number may change
      Buffer<float> values;
      values.fromHost(cuda, host);
      std::vector<std::byte> expected(count * pixelTypeSize(type));
      Buffer<std::byte> pixels(cuda, expected.size());

      Buffer<unsigned long long> clamped;
      clamped.fromHost(cuda, std::vector<unsigned long long>(1));

      toPixelsOnCuda(cuda, values.span().data(), count, type, pixels.span().data(), clamped.span().data());

      EXPECT_EQ(clamped.toHost(cuda).front(), toPixels(host, type, expected.data()));
      EXPECT_EQ(pixels.toHost(cuda), expected) << pixelTypeName(type) << ", " << count;
    }
}

}
}
