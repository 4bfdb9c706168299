#include "Core/Image/Files/FilesOfImage.h"

#include "Testing/Support/Files/TemporaryFolder.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using Files = std::vector<std::string>;

class FilesOfImageTest : public ::testing::Test {
protected:
  /// The files of an NRRD with this line for its data file and the lines behind it.
  Files ofNrrd(const std::string& dataFile, const std::string& behind = "") const
  {
    const std::string header = "NRRD0004\ntype: uchar\ndimension: 2\nsizes: 2 2\nencoding: raw\n";
    Files files = filesOfImage(folder.write("a.nhdr", header + dataFile + "\n" + behind));
    EXPECT_EQ(files.front(), path("a.nhdr"));
    files.erase(files.begin());
    return files;
  }
  std::string path(const std::string& name) const { return folder / name; }

  testing::TemporaryFolder folder;
};

TEST_F(FilesOfImageTest, AListOfANrrdIsThatWordInCapitalsAlone)
{
  for (const std::string list :
       {"data file: LIST", "datafile: LIST", "Data File: LIST", "data file: LIST 2", "data file:  LIST  "})
    EXPECT_EQ(ofNrrd(list, "one.raw\ntwo.raw\n"), (Files{path("one.raw"), path("two.raw")})) << list;
}

TEST_F(FilesOfImageTest, AVoxelFileOfANrrdMayHaveANameThatBeginsAsAList)
{
  for (const std::string name :
       {"listing.raw", "list", "List", "lists of voxels.raw", "LISTING.raw", "LIST.raw"})
    EXPECT_EQ(ofNrrd("data file: " + name, "one.raw\n"), (Files{path(name)})) << name;
}

TEST_F(FilesOfImageTest, NumberedFilesOfANrrdMayBeginAsAList)
{
  EXPECT_EQ(ofNrrd("data file: LIST%02d.raw 1 3 2"), (Files{path("LIST01.raw"), path("LIST03.raw")}));
}

TEST_F(FilesOfImageTest, ResultsOfSomeFormatsHaveTheirVoxelsBesideThem)
{
  EXPECT_EQ(filesOfResult("out/a.mha"), (Files{"out/a.mha"}));
  EXPECT_EQ(filesOfResult("out/a.nii.gz"), (Files{"out/a.nii.gz"}));
  EXPECT_EQ(filesOfResult("out/a.b.mhd"), (Files{"out/a.b.mhd", "out/a.b.raw", "out/a.b.zraw"}));
  EXPECT_EQ(filesOfResult("out/a.nhdr"), (Files{"out/a.nhdr", "out/a.raw", "out/a.raw.gz"}));
  EXPECT_EQ(filesOfResult("out/a.img"), (Files{"out/a.hdr", "out/a.img"}));
  EXPECT_EQ(filesOfResult("out/points.txt"), (Files{"out/points.txt"}));
}

}
}
