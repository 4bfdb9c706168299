#include "Components/ImagePyramids/Shared/PyramidSchedule.h"

#include "Testing/Support/ErrorText.h"
#include "Testing/Support/ParameterText.h"

using namespace tessera;
using namespace tessera::testing;

namespace {

using Factors = Schedule<2, std::size_t>;

Factors factorsOf(const std::string& text, std::size_t levels, FactorRule rule = FactorRule::free,
                  ImageSide side = ImageSide::fixed)
{
  const Parameters parameters = parametersOf(text, 2, levels, sideName(side) + "ImagePyramid0");
  return readFactors<2>(parameters, factorRows(side), rule);
}

/// The factors, and every line that was warned of.
std::pair<Factors, std::string> factorsAndWarnings(const std::string& text, std::size_t levels,
                                                   FactorRule rule = FactorRule::free)
{
  std::string warnings;
  const Parameters parameters = parametersOf(text, 2, levels, "FixedImagePyramid0",
                                             [&](const std::string& line) { warnings += line + "\n"; });
  return {readFactors<2>(parameters, factorRows(ImageSide::fixed), rule), warnings};
}

}

TEST(PyramidScheduleTest, HalvesFactorsByDefault)
{
  const auto [factors, warnings] = factorsAndWarnings("(NumberOfResolutions 4)", 4);

  EXPECT_EQ(factors, (Factors{{8, 8}, {4, 4}, {2, 2}, {1, 1}}));
  EXPECT_EQ(warnings, "");
}

TEST(PyramidScheduleTest, ReadsLevelsCoarseToFineAxisByAxis)
{
  EXPECT_EQ(factorsOf("(ImagePyramidSchedule 8 4 3 0)", 2), (Factors{{8, 4}, {3, 0}}));
}

TEST(PyramidScheduleTest, LetsTheMoreSpecialNameWinEntryByEntry)
{
  const std::string text =
      "(ImagePyramidSchedule 8 8 4 4)\n(FixedImagePyramidSchedule 6 6)\n(FixedImagePyramid0Schedule 5)\n"
      "(MovingImagePyramidSchedule 9 9 9 9)";
  EXPECT_EQ(factorsOf(text, 2), (Factors{{5, 6}, {4, 4}}));
  EXPECT_EQ(factorsOf(text, 2, FactorRule::free, ImageSide::moving), (Factors{{9, 9}, {9, 9}}));
}

TEST(PyramidScheduleTest, FallsBackToTheWholeDefaultIfEntriesAreMissing)
{
  const auto [factors, warnings] = factorsAndWarnings("(ImagePyramidSchedule 16 16 3)", 2);

  EXPECT_EQ(factors, (Factors{{2, 2}, {1, 1}}));
  EXPECT_PRED2(contains, warnings, "text:1");
  EXPECT_PRED2(contains, warnings,
               "3 entries for 2 levels of 2 axes, which need 4: the default schedule is used instead.");
}

TEST(PyramidScheduleTest, AFactorOfZeroIsOneWhereAPyramidShrinks)
{
  const std::string text = "(ImagePyramidSchedule 0 2 0 1)";

  const auto [factors, warnings] = factorsAndWarnings(text, 2, FactorRule::decreasing);

  EXPECT_EQ(factors, (Factors{{1, 2}, {1, 1}}));
  EXPECT_PRED2(contains, warnings, "a factor below 1 counts as 1");
  EXPECT_EQ(factorsAndWarnings(text, 2).second, "") << "without smoothing along an axis";
}

TEST(PyramidScheduleTest, CutsFractionsOffWithAWarning)
{
  const auto [factors, warnings] = factorsAndWarnings("(ImagePyramidSchedule 2.5 2.0 0.5 1)", 2);

  EXPECT_EQ(factors, (Factors{{2, 2}, {0, 1}}));
  EXPECT_PRED2(contains, warnings, "the fraction of a factor is cut off");
}

TEST(PyramidScheduleTest, KeepsFactorsDecreasingAndAboveZeroWhereAsked)
{
  EXPECT_EQ(factorsOf("(ImagePyramidSchedule 4 0 8 2 2 3)", 3, FactorRule::decreasing),
            (Factors{{4, 1}, {4, 1}, {2, 1}}));
  EXPECT_EQ(factorsOf("(ImagePyramidSchedule 4 0 8 2 2 3)", 3, FactorRule::free),
            (Factors{{4, 0}, {8, 2}, {2, 3}}));
}

TEST(PyramidScheduleTest, RefusesNegativeFactors)
{
  const std::string message = errorText([] { factorsOf("(ImagePyramidSchedule 2 2 -1 1)", 2); });

  EXPECT_PRED2(contains, message, "text:1");
  EXPECT_PRED2(contains, message, "Allowed:");
}

TEST(PyramidScheduleTest, DescribesEachSideByItsOwnNames)
{
  const ComponentDescription description =
      pyramidDescription(ImageSide::moving, "SmoothingImagePyramid", "", {});

  EXPECT_EQ(description.role, "MovingImagePyramid");
  EXPECT_EQ(description.aliases, std::vector<std::string>{"MovingSmoothingImagePyramid"});
}
