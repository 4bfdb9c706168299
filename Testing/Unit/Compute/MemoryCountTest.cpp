#include "Core/Compute/Memory/MemoryCount.h"

#include "Core/Compute/Memory/Buffer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>

namespace tessera {
namespace {

TEST(MemoryCount, CountsTheBytesThatAreHeld)
{
  MemoryCount count;
  EXPECT_TRUE(count.context().onCuda());
  EXPECT_TRUE(onlyCountsMemory(count.context()));
  EXPECT_FALSE(onlyCountsMemory(Context{}));
  {
    const Buffer<double> doubles(count.context(), 1000);
    Buffer<float> floats(count.context(), 10);
    EXPECT_EQ(count.bytes(), 8000 + 40);
    EXPECT_NE(static_cast<const void*>(doubles.span().data()),
              static_cast<const void*>(floats.span().data()));

    floats = Buffer<float>(count.context(), 20);
    EXPECT_EQ(count.bytes(), 8000 + 80);
    floats.fromHost(count.context(), std::vector<float>(30));
    EXPECT_EQ(count.bytes(), 8000 + 120);
    grown(count.context(), floats, 50);
    EXPECT_EQ(count.bytes(), 8000 + 200);
  }
  EXPECT_EQ(count.bytes(), 0);
}

TEST(MemoryCount, TellsPartsByTheInnermostName)
{
  MemoryCount count;
  const Buffer<char> before(count.context(), 1);
  Buffer<char> outer, inner, again;
  {
    const MemoryPart part(count.context(), "outer"), onTheHost(Context{}, "host");
    outer = Buffer<char>(count.context(), 20);
    {
      const MemoryPart nested(count.context(), "inner");
      inner = Buffer<char>(count.context(), 300);
    }
    again = Buffer<char>(count.context(), 4000);
  }
  const auto bytesOf = [&](const std::string& name) {
    const DeviceMemory memory = count.memory();
    for (const DeviceMemory::Part& part : memory.parts())
      if (part.name == name)
        return part.bytes;
    return 0.0;
  };
  EXPECT_EQ(bytesOf("outer"), 4020);
  EXPECT_EQ(bytesOf("inner"), 300);
  EXPECT_EQ(bytesOf("others"), 1);
  inner = {};
  EXPECT_EQ(bytesOf("inner"), 0);
}

TEST(MemoryCount, TellsThePeakSinceTheLastCall)
{
  MemoryCount count;
  Buffer<char> held(count.context(), 1000);
  grown(count.context(), held, 1500); // never both
  EXPECT_EQ(takePeakDeviceMemory(count.context()), 1500);
  held = {};
  EXPECT_EQ(takePeakDeviceMemory(count.context()), 1500);
  EXPECT_EQ(takePeakDeviceMemory(count.context()), 0);
}

TEST(MemoryCount, TellsThePartsOfThePeak)
{
  MemoryCount count;
  const auto take = [&](const std::string& name, std::size_t bytes) {
    const MemoryPart part(count.context(), name);
    return Buffer<char>(count.context(), bytes);
  };
  const Buffer<char> kept = take("kept", 1000000);
  {
    const Buffer<char> temporary = take("temporary", 4000000);
  }
  const Buffer<char> later = take("later", 2000000);

  EXPECT_EQ(count.peak().bytes(), 5000000);
  EXPECT_EQ(count.peak().text(), "temporary 4 MB, kept 1 MB");
  takePeakDeviceMemory(count.context());
  EXPECT_EQ(count.peak().text(), "later 2 MB, kept 1 MB");
}

TEST(MemoryCount, CountsMoreThanAnyMachineHas)
{
  MemoryCount count;
  const Buffer<double> huge(count.context(), std::size_t(1) << 50);
  EXPECT_EQ(count.bytes(), std::ldexp(8, 50));
}

TEST(MemoryCount, HasNoNumbersToGive)
{
  MemoryCount count;
  const Buffer<double> numbers(count.context(), 1);
  EXPECT_THROW(numbers.toHost(count.context()), std::logic_error);
}

}
}
