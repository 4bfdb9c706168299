#include "Core/Registration/TransformFiles/TransformFilePath.h"

#include "Testing/Support/Files/TemporaryFolder.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera {
namespace {

using Files = std::vector<std::string>;

class FilesOfTransformTest : public ::testing::Test {
protected:
  Files sorted(const std::string& path) const
  {
    Files files = filesOfTransform(path);
    std::sort(files.begin(), files.end());
    return files;
  }
  std::string path(const std::string& name) const { return folder / name; }

  testing::TemporaryFolder folder;
};

TEST_F(FilesOfTransformTest, AreThoseOfTheChainAndWhatTheseName)
{
  folder.write("field.mhd", "ObjectType = Image\nNDims = 2\nDimSize = 2 2\nElementType = "
                            "MET_FLOAT\nElementDataFile = voxels.raw\n");
  folder.write("voxels.raw", "");
  folder.write("itk.tfm", "#Insight Transform File V1.0\n");
  folder.write("numbers.dat", "");
  folder.write("first.txt",
               "(Transform \"DeformationFieldTransform\")\n(DeformationFieldFileName \"field.mhd\")\n"
               "(InitialTransformParametersFileName \"NoInitialTransform\")\n");
  folder.write("second.txt", "(Transform \"File\")\n(TransformFileName \"itk.tfm\")\n"
                             "(InitialTransformParametersFileName \"first.txt\")\n");
  const std::string last =
      folder.write("last.txt", "(TransformParameters \"numbers.dat\")\n(NumberOfParameters 2)\n"
                               "(InitialTransformParameterFileName \"second.txt\")\n");
  EXPECT_EQ(sorted(last), (Files{path("field.mhd"), path("first.txt"), path("itk.tfm"), last,
                                 path("numbers.dat"), path("second.txt"), path("voxels.raw")}));
}

TEST_F(FilesOfTransformTest, HaveAllThatAListNames)
{
  folder.write("a.txt", "(Transform \"TranslationTransform\")\n");
  folder.write("b.txt", "(Transform \"TranslationTransform\")\n");
  const std::string list = folder.write("list.txt", "(SubTransforms \"a.txt\" \"b.txt\" \"none.txt\")\n");
  EXPECT_EQ(sorted(list), (Files{path("a.txt"), path("b.txt"), list}));
}

TEST_F(FilesOfTransformTest, NumbersAndFilesThatAreNotThereNameNothing)
{
  const std::string numbers =
      folder.write("a.txt", "(TransformParameters 1 2)\n(InitialTransformParametersFileName \"none.txt\")\n");
  EXPECT_EQ(sorted(numbers), (Files{numbers}));
  EXPECT_EQ(sorted(path("none.txt")), (Files{path("none.txt")}));
}

TEST_F(FilesOfTransformTest, ACircleEnds)
{
  const std::string self = folder.write("a.txt", "(InitialTransformParametersFileName \"b.txt\")\n");
  folder.write("b.txt", "(InitialTransformParametersFileName \"a.txt\")\n");
  EXPECT_EQ(sorted(self), (Files{self, path("b.txt")}));
}

}
}
