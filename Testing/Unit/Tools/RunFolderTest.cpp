// needs: Tools
#include "Tools/Common/RunFolder.h"

#include "Core/Compute/Error.h"
#include "Testing/Support/Files/TemporaryFolder.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

std::string folderWith(const testing::TemporaryFolder& temporary, const std::string& record)
{
  temporary.write("run.json", record);
  return temporary.path();
}

const char* const twoStages = R"({"status": "done", "stages": [
  {"files": ["there/TransformParameters.0.R0.txt", "there/TransformParameters.0.txt", "there/result.0.mha"]},
  {"files": ["there/TransformParameters.1.toml"]}]})";

TEST(RunFolder, TheRecordTellsTheLastStage)
{
  const testing::TemporaryFolder temporary;
  const std::string folder = folderWith(temporary, twoStages);

  EXPECT_EQ(transformFileOf(folder, "-tp"), folder + "/TransformParameters.1.toml");
  EXPECT_EQ(transformFileOf(folder + "/any.txt", "-tp"), folder + "/any.txt");
  EXPECT_EQ(laterStagesThan(folder + "/TransformParameters.0.txt"),
            folder + "/TransformParameters.0.txt is stage 0 of its run; later stages are left out: " + folder
                + "/TransformParameters.1.toml");
  EXPECT_EQ(laterStagesThan(folder + "/TransformParameters.1.toml"), "");
  EXPECT_EQ(laterStagesThan(folder + "/other.txt"), "");
}

TEST(RunFolder, AFolderWithoutAWholeRunIsRefused)
{
  const testing::TemporaryFolder temporary;

  for (const char* record :
       {"", "no JSON", "5", R"({"status": "done"})", R"({"status": "failed", "stages": []})"})
    EXPECT_THROW(transformFileOf(folderWith(temporary, record), "-tp"), Error) << record;
}

}
}
