#include "Core/Compute/Files/DiskRoom.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"

#include <filesystem>

namespace tessera {
namespace {

class DiskRoomTest : public ::testing::Test {
protected:
  ResultToWrite result(const std::string& name, double shareOfRoom, bool isCompressed = false) const
  {
    return {{folder / name}, shareOfRoom * room, isCompressed};
  }
  ExitCode codeOf(const std::vector<ResultToWrite>& results) const
  {
    return testing::exitCodeOf([&] { requireDiskRoom("-out", folder / "new/one", results); });
  }

  testing::TemporaryFolder folder;
  const double room = static_cast<double>(std::filesystem::space(folder.path()).available);
};

TEST_F(DiskRoomTest, AllResultsTogetherMustFit)
{
  EXPECT_EQ(requireDiskRoom("-out", folder.path(), {}), "");
  EXPECT_EQ(requireDiskRoom("-out", folder.path(), {result("a", 0.3), result("b", 0.3)}), "");
  EXPECT_EQ(codeOf({result("a", 0.3), result("b", 0.3)}), ExitCode::done);
  EXPECT_EQ(codeOf({result("a", 2)}), ExitCode::unwritableOutput);
  EXPECT_EQ(codeOf({result("a", 0.8), result("b", 0.8)}), ExitCode::unwritableOutput);
}

TEST_F(DiskRoomTest, WhatIsCompressedMayFit)
{
  const std::string warning = requireDiskRoom("-out", folder.path(), {result("a", 2, true)});
  EXPECT_TRUE(warning.starts_with("-out: the results may take up to ")) << warning;
  EXPECT_PRED2(testing::contains, warning, folder / "a with ");
  EXPECT_EQ(codeOf({result("a", 2000, true)}), ExitCode::unwritableOutput);
}

TEST_F(DiskRoomTest, AFileThatIsReplacedMakesRoomForTheNextOne)
{
  const std::string old = folder.write("a", "");
  std::error_code failure;
  std::filesystem::resize_file(old, static_cast<std::uintmax_t>(0.8 * room), failure); // a hole
  if (failure)
    GTEST_SKIP() << failure.message();

  EXPECT_EQ(codeOf({result("a", 0.8), result("b", 0.8)}), ExitCode::done);
  EXPECT_EQ(codeOf({result("b", 0.8), result("a", 0.8)}), ExitCode::unwritableOutput);
}

}
}
