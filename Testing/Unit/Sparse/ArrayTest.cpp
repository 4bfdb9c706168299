// needs: Sparse
#include "Core/Sparse/Array.h"
#include "Core/Compute/Memory/Memory.h"
#include "Testing/Support/ErrorText.h"

#include <cmath>

namespace tessera {
namespace {

/// More bytes than the machine has free, though the system would promise them.
std::size_t tooManyBytes()
{
  const double available = availableMemoryBytes();
  return std::isfinite(available) ? static_cast<std::size_t>(1.25 * available) : 0;
}

TEST(ArrayTest, MemoryIsAskedForBeforeItIsTaken)
{
  const std::size_t bytes = tooManyBytes();
  if (bytes == 0)
    GTEST_SKIP() << "the system does not say how much memory it has";
  const std::string text = testing::errorText([&] { Array<char> array(bytes); }, ExitCode::outOfMemory);
  EXPECT_TRUE(text.starts_with("memory: an array of a matrix in one piece: about ")) << text;
  EXPECT_TRUE(text.ends_with(
      " are free. Allowed: smaller matrices, or a smaller --max-memory, which works in ranges of rows."))
      << text;
}

TEST(ArrayTest, AReservedArrayTakesAsMuchAsIsWritten)
{
  const std::size_t bytes = tooManyBytes();
  if (bytes == 0)
    GTEST_SKIP() << "the system does not say how much memory it has";
  Array<char> array(bytes, MemoryBlock::Use::reserved);
  array[bytes - 1] = 'x';
  array.truncate(8);
  EXPECT_EQ(array.size(), 8u);
}

}
}
