// needs: GPU
#include "Core/Compute/Memory/HostCopies.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Testing/Support/OnGpu/GpuTest.h"

#include <cstdint>
#include <numeric>
#include <thread>

namespace tessera {
namespace {

std::vector<std::uint32_t> numbers(std::size_t count, std::uint32_t first)
{
  std::vector<std::uint32_t> all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

/// Copies of 4 bytes to 130 MB: at once, through two pieces, and by several threads with pieces of their own.
void expectCopiesArrive(const Context& context)
{
  for (const std::size_t count : {1ul, 262143ul, 262144ul, 5000001ul, 16777216ul, 34000003ul}) {
    const std::vector<std::uint32_t> from = numbers(count, static_cast<std::uint32_t>(count));
    Buffer<std::uint32_t> onDevice(context, count);
    std::vector<std::uint32_t> to(count + 2, 7);
    copyLargeToDevice(context, onDevice.span().data(), from.data(), count * sizeof(std::uint32_t));
    copyLargeToHost(context, to.data() + 1, onDevice.span().data(), count * sizeof(std::uint32_t));
    EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin() + 1)) << count;
    EXPECT_EQ(to.front(), 7u) << count;
    EXPECT_EQ(to.back(), 7u) << count;
  }
}

using HostCopiesTest = testing::GpuTest;

TEST_F(HostCopiesTest, EveryByteArrivesForAnyNumberOfThreads)
{
  for (const int threads : {1, 3, 12})
    expectCopiesArrive(makeContext({DeviceKind::cuda, 0}, threads));
}

TEST_F(HostCopiesTest, TwoThreadsCopyAtTheSameTime)
{
  const int last = static_cast<int>(findCudaDevices().found.size()) - 1; // another device if there is one
  const Context one = makeContext({DeviceKind::cuda, 0}, 8), other = makeContext({DeviceKind::cuda, last}, 8);
  std::jthread beside([&] { expectCopiesArrive(other); });
  expectCopiesArrive(one);
}

}
}
