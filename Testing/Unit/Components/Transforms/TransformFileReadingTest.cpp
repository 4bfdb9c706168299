#include "Components/Transforms/Shared/TransformFileReading.h"

#include "Core/Registration/TransformFiles/TransformDigest.h"
#include "Testing/Support/ErrorText.h"
#include "Testing/Support/Files/TemporaryFolder.h"

#include <filesystem>

namespace tessera {
namespace {

using namespace testing;

Parameters fileOf(const std::string& path, const Parameters::Warn& warn = {})
{
  std::vector<std::string> notes;
  return Parameters(std::make_shared<ParameterMap>(readParameterFile(path, notes)), "", 2, 1, warn);
}

TEST(TransformFileReading, ParametersAreCounted)
{
  const TemporaryFolder folder;
  const Parameters file = fileOf(folder.write("t.txt", "(TransformParameters 1 2.5 -3e-2)\n"));
  EXPECT_EQ(readTransformParameters(file, 3, "a model"), (std::vector<double>{1, 2.5, -0.03}));
  const std::string message = errorText([&] { readTransformParameters(file, 4, "a model"); });
  EXPECT_TRUE(contains(message, "t.txt:1") && contains(message, "3 values")
              && contains(message, "a model makes 4"))
      << message;
}

TEST(TransformFileReading, BinaryParametersLieBesideTheTransformFile)
{
  const TemporaryFolder folder;
  const double values[] = {0.1, -7, 1e300};
  folder.write("t.dat", std::string(reinterpret_cast<const char*>(values), sizeof(values)));
  const Parameters file = fileOf(folder.write(
      "t.txt", "(UseBinaryFormatForTransformationParameters \"true\")\n(TransformParameters \"t.dat\")\n"));
  EXPECT_EQ(readTransformParameters(file, 3, "a model"), (std::vector<double>{0.1, -7, 1e300}));
  const std::string message =
      errorText([&] { readTransformParameters(file, 2, "a model"); }, ExitCode::unreadableInput);
  EXPECT_TRUE(contains(message, "24 bytes") && contains(message, "2 parameters")) << message;
}

TEST(TransformFileReading, MissingFilesAreToldWithBothPlaces)
{
  const TemporaryFolder folder;
  const Parameters file = fileOf(folder.write("t.txt", "(Field \"u.mha\")\n"));
  const std::string message =
      errorText([&] { pathBesideTransformFile(file, "Field", "u.mha"); }, ExitCode::unreadableInput);
  EXPECT_PRED2(contains, message, "neither u.mha nor " + (folder / "u.mha"));
  EXPECT_TRUE(message.ends_with("the transform file's folder.")) << message;
}

TEST(TransformFileReading, AFileOfAFolderThatWasMovedIsTakenWithAWarning)
{
  const TemporaryFolder folder;
  folder.write("u.mha", "");
  std::vector<std::string> warnings;
  const Parameters file = fileOf(folder.write("t.txt", "(Field \"old/u.mha\")\n(Initial \"old/t.txt\")\n"),
                                 [&](const std::string& line) { warnings.push_back(line); });
  EXPECT_EQ(pathBesideTransformFile(file, "Field", "old/u.mha"), folder / "u.mha");
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_PRED2(contains, warnings[0],
               (folder / "u.mha") + " is taken, which lies beside the transform file.");
  const std::string itself =
      errorText([&] { pathBesideTransformFile(file, "Initial", "old/t.txt"); }, ExitCode::unreadableInput);
  EXPECT_TRUE(itself.ends_with("the transform file's folder.")) << itself;
}

TEST(TransformFileReading, OfSeveralCandidatesTheOneWithTheDigestIsTaken)
{
  const TemporaryFolder folder;
  const std::string inFolder = folder.path() + "/elsewhere/";
  std::filesystem::create_directories(inFolder);
  folder.write("u.mha", "another field");
  folder.write("a.txt", "(Transform \"A\")\n");
  folder.write("b.txt", "(Transform \"B\")\n");
  folder.write("elsewhere/u.mha", "the field");
  folder.write("elsewhere/b.txt", "(Transform \"C\")\n");
  const auto fileWith = [&](const std::string& digests) {
    return fileOf(folder.write("elsewhere/t.txt", "(DeformationFieldFileName \"" + (folder / "u.mha")
                                                      + "\")\n(SubTransforms \"" + (folder / "a.txt")
                                                      + "\" \"" + (folder / "b.txt") + "\")\n" + digests));
  };
  const std::string ofField = transformDigest(inFolder + "u.mha"), ofA = transformDigest(folder / "a.txt"),
                    ofC = transformDigest(inFolder + "b.txt");
  const Parameters file = fileWith("(DeformationFieldSHA256 \"" + ofField + "\")\n(SubTransformsSHA256 \""
                                   + ofA + "\" \"" + ofC + "\")\n");

  EXPECT_EQ(pathBesideTransformFile(file, "DeformationFieldFileName", folder / "u.mha"), inFolder + "u.mha");
  EXPECT_EQ(pathBesideTransformFile(file, "SubTransforms", folder / "a.txt"), folder / "a.txt");
  EXPECT_EQ(pathBesideTransformFile(file, "SubTransforms", folder / "b.txt"), inFolder + "b.txt");
  const Parameters wrong = fileWith("(DeformationFieldSHA256 \"" + ofA + "\")\n");
  EXPECT_PRED2(
      contains,
      errorText([&] { pathBesideTransformFile(wrong, "DeformationFieldFileName", folder / "u.mha"); },
                ExitCode::unreadableInput),
      "none of these files holds the transform that the result was made with (DeformationFieldSHA256");
}

}

TEST(TransformFileReading, ADigestCoversNamedFilesByTheirEntriesOrElseByTheirBytes)
{
  const TemporaryFolder folder;
  const auto digestWith = [&](const std::string& field, const std::string& more) {
    folder.write("u.mha", field);
    return transformDigest(folder.write("t.txt", "(DeformationFieldFileName \"old/u.mha\")\n" + more));
  };
  const std::string entry = "(DeformationFieldSHA256 \"0123\")\n";
  EXPECT_EQ(digestWith("a field", entry), digestWith("another field", entry));
  EXPECT_NE(digestWith("a field", entry), digestWith("a field", "(DeformationFieldSHA256 \"4567\")\n"));
  EXPECT_EQ(digestWith("a field", ""), digestWith("a field", ""));
  EXPECT_NE(digestWith("a field", ""), digestWith("another field", ""));
}

}
