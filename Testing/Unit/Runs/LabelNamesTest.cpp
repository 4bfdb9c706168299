// needs: Runs
#include "Core/Runs/LabelNames.h"

#include "Testing/Support/Files/TemporaryFolder.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using Names = std::map<std::int64_t, std::string>;

TEST(LabelNames, TablesOfThreeProgramsAreRead)
{
  EXPECT_EQ(
      labelNamesIn("#No. Label Name: R G B A\n\n0 Unknown 0 0 0 0\r\n17  Left-Hippocampus  220 216 20 0\r\n"),
      (Names{{0, "Unknown"}, {17, "Left-Hippocampus"}})); // FreeSurfer
  EXPECT_EQ(labelNamesIn("# ITK-SnAP\n    0     0    0    0        0  0  0    \"Clear Label\"\n"
                         "   12   255    0    0        1  1  1    \"Left lung\"\n"),
            (Names{{0, "Clear Label"}, {12, "Left lung"}}));
  EXPECT_EQ(labelNamesIn("name\tcolor\tindex\nGray Matter\t#ff0000\t1\nWhite Matter\t#00ff00\t3\n"),
            (Names{{1, "Gray Matter"}, {3, "White Matter"}})); // BIDS
  EXPECT_EQ(labelNamesIn("1 Left lung\n2 Left kidney 255 0 0\n3 Area 4\n"),
            (Names{{1, "Left lung"}, {2, "Left kidney"}, {3, "Area 4"}}));
  EXPECT_EQ(labelNamesIn("point\n3\n1 2 3\n4 5 6\n"), Names{}); // landmarks have no names
}

TEST(LabelNames, TheTableOfTheMapItselfComesFirst)
{
  const testing::TemporaryFolder folder;
  const std::string map = folder.path() + "/seg.nii.gz";
  EXPECT_EQ(labelNamesBeside(map), Names{});
  folder.write("FreeSurferColorLUT.txt", "4 Ventricle 0 0 0 0\n");
  EXPECT_EQ(labelNamesBeside(map), (Names{{4, "Ventricle"}}));
  folder.write("seg.tsv", "index\tname\n4\tLeft ventricle\n");
  EXPECT_EQ(labelNamesBeside(map), (Names{{4, "Left ventricle"}}));
}

}
}
