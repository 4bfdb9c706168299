#include "Core/Parameters/ParameterCheck.h"

#include "Core/Parameters/KnownElastixComponents.h"
#include "Core/Parameters/KnownElastixParameters.h"
#include "Testing/Support/ErrorText.h"

namespace tessera {
namespace {

using namespace testing;
using Lines = std::vector<std::string>;

const ComponentDescription metric{
    "Metric",
    "AdvancedMattesMutualInformation",
    "mutual information",
    {integerParameter("NumberOfHistogramBins", 32, 1, Arity::perLevel, "", "bins"),
     booleanParameter("ShowExactMetricValue", false, Arity::perLevel, "exact"),
     integerParameter("MovingKernelBSplineOrder", 3, 0, Arity::single, "", "order")}};
const ComponentDescription sampler{
    "ImageSampler",
    "RandomCoordinate",
    "points",
    {integerParameter("FixedImageBSplineInterpolationOrder", 1, 0, Arity::single, "", "order")}};
const ComponentDescription pyramid{
    "FixedImagePyramid",
    "FixedSmoothingImagePyramid",
    "smooths",
    {realParameter("Schedule", 1, Arity::schedule, "", "factors"),
     realParameter("ImagePyramidSchedule", 1, Arity::schedule, "", "factors")}};
const ComponentDescription transform{
    "Transform",
    "EulerTransform",
    "rigid",
    {realParameter("Scales", 1, Arity::list, "", "scales"),
     realParameter("CenterOfRotationPoint", 0, Arity::perDimension, "mm", "centre"),
     textParameter("AutomaticTransformInitializationMethod", "GeometricalCenter", Arity::single, "method",
                   {"GeometricalCenter", "CenterOfGravity"})}};
const ComponentDescription stage{
    "Stage",
    "Stage",
    "stage",
    {textParameter("ImageSampler", "", Arity::list, "names"),
     textParameter("Resampler", "DefaultResampler", Arity::list, "names"),
     textParameter("FixedInternalImagePixelType", "float", Arity::single, "type")}};
const ComponentDescription otherOptimizer{
    "Optimizer", "StandardGradientDescent", "descent", {realParameter("SP_A", 20, Arity::perLevel, "", "A")}};

const std::vector<const ComponentDescription*> known{&metric,    &sampler, &pyramid,
                                                     &transform, &stage,   &otherOptimizer};

CheckReport check(const std::string& text)
{
  Lines notes;
  const ParameterMap map = parseParameterText(text, "Rigid.txt", notes);
  const std::vector<ChosenComponent> chosen{{"", &stage},
                                            {"Metric0", &metric},
                                            {"Metric1", &metric},
                                            {"ImageSampler0", &sampler},
                                            {"FixedImagePyramid0", &pyramid},
                                            {"Transform0", &transform}};
  return checkParameters(map, chosen, known);
}

TEST(ParameterCheck, IsSilentAboutWhatIsRead)
{
  const CheckReport report =
      check("(NumberOfHistogramBins 32 16)\n(Metric1NumberOfHistogramBins 8)\n(Scales 1 2 3)\n"
            "(FixedImagePyramid0Schedule 4 2 1)\n(ImageSampler \"RandomCoordinate\")\n");

  EXPECT_EQ(report.warnings, Lines{});
  EXPECT_EQ(report.notes, Lines{});
}

TEST(ParameterCheck, WarnsOfAParameterThatNobodyReads)
{
  EXPECT_EQ(check("(NumberOfHistogramBins 8)\n(NumberOfHistogramBin 32)").warnings,
            Lines{"Rigid.txt:2: (NumberOfHistogramBin 32): no chosen component reads it. Did you mean "
                  "\"NumberOfHistogramBins\"?"});
  EXPECT_EQ(check("(Xyzzy 1)").warnings, Lines{"Rigid.txt:1: (Xyzzy 1): no chosen component reads it."});
  EXPECT_EQ(check("(Metric2NumberOfHistogramBins 8)\n(Transform0NumberOfHistogramBins 8)").warnings.size(),
            1u); // no transform has bins
}

TEST(ParameterCheck, NamesTheNearestForTheMisspellingsOfRealFiles)
{
  const auto nearestFor = [](const std::string& name) { return check("(" + name + " 1)").warnings.at(0); };

  EXPECT_PRED2(contains, nearestFor("ShowExactMetricValues"), "Did you mean \"ShowExactMetricValue\"?");
  EXPECT_PRED2(contains, nearestFor("FixedImageBSplineInterpolatorOrder"),
               "Did you mean \"FixedImageBSplineInterpolationOrder\"?");
  EXPECT_PRED2(contains, nearestFor("Sampler"), "Did you mean \"ImageSampler\"?");
  EXPECT_PRED2(contains, nearestFor("CenterOfRotation"), "Did you mean \"CenterOfRotationPoint\"?");
  EXPECT_PRED2(contains, nearestFor("Scaler"), "Did you mean \"Scales\"?");
  EXPECT_PRED2(contains, nearestFor("FixedImagePixelType"), "Did you mean \"FixedInternalImagePixelType\"?");
}

TEST(ParameterCheck, CollectsWhatIsNotNeededInOneNote)
{
  const CheckReport report = check(
      "(SP_A 20)\n(ShrinkageIntensity 5)\n(Metric0Combination 1)\n(Optimizer0SP_A 3)\n(FinalGridSpacing 8)\n"
      "(ImpactModelsPath0 \"x\")\n(Interpolator1PreParameters 1)\n");

  EXPECT_EQ(report.warnings, Lines{});
  EXPECT_EQ(report.notes,
            Lines{"Rigid.txt: parameters of elastix that are not needed here: SP_A, Optimizer0SP_A (of "
                  "components that are not chosen); ShrinkageIntensity, Metric0Combination, "
                  "ImpactModelsPath0, Interpolator1PreParameters (of components that Tessera does not have); "
                  "FinalGridSpacing (obsolete in elastix)."});
}

TEST(ParameterCheck, TellsOfBlanksAndSurplusValuesOnce)
{
  const CheckReport report =
      check("(AutomaticTransformInitializationMethod \" CenterOfGravity\")\n(MovingKernelBSplineOrder 3 "
            "1)\n(FixedInternalImagePixelType \"float\" \"float\")\n");

  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_PRED2(contains, report.warnings[0], "elastix keeps them");
  EXPECT_EQ(report.notes,
            Lines{"Rigid.txt:2: (MovingKernelBSplineOrder 3 1): takes one value; the others are not read."});
}

TEST(ParameterCheck, AnEmptyValueIsNotChecked)
{
  EXPECT_EQ(check("(NumberOfHistogramBins \"\")").warnings, Lines{});
}

TEST(NearestName, CountsAWholeWordAsTwoLettersAndIgnoresTheFar)
{
  EXPECT_EQ(nearestName("Sampler", {"Resampler", "ImageSampler"}), "ImageSampler");
  EXPECT_EQ(nearestName("METRIC", {"Optimizer", "Metric"}), "Metric");
  EXPECT_EQ(nearestName("Sclaes", {"Scales"}), "Scales");
  EXPECT_EQ(nearestName("MaxNumberOfIterations", {"NumberOfIterations0", "MaximumNumberOfIterations"}),
            "MaximumNumberOfIterations");
  EXPECT_EQ(nearestName("AdvancedMeanSquare", {"AdvancedMeanSquares"}), "AdvancedMeanSquares");
  EXPECT_EQ(nearestName("MeanSquares", {"AdvancedMeanSquares"}), "AdvancedMeanSquares");
  EXPECT_EQ(nearestName("Foo", {"Metric", "Bar", "SP_A"}), "");
  EXPECT_EQ(nearestName("GradientEstimationMethod", {"ASGDParameterEstimationMethod"}), "");
  EXPECT_EQ(nearestName("", {"Metric"}), "");
  EXPECT_EQ(nearestName("Metric", {}), "");
}

TEST(KnownElastix, FindsNamesLabelsAndDigits)
{
  EXPECT_NE(findElastixParameter("ShrinkageIntensity"), nullptr);
  EXPECT_NE(findElastixParameter("Metric11ShrinkageIntensity"), nullptr);
  EXPECT_NE(findElastixParameter("Metric11RelativeWeight"), nullptr);
  EXPECT_NE(findElastixParameter("ImpactDimension3"), nullptr);
  EXPECT_EQ(findElastixParameter("ImpactDimension"), nullptr);
  EXPECT_EQ(findElastixParameter("MetricShrinkageIntensity"), nullptr);
  EXPECT_EQ(findElastixParameter("Optimizer0ShrinkageIntensity"), nullptr);
  EXPECT_EQ(findElastixParameter(""), nullptr);
  EXPECT_EQ(afterLabel("Metric12Weight", "Metric"), "Weight");
  EXPECT_EQ(afterLabel("MetricWeight", "Metric"), "");
  EXPECT_TRUE(isElastixComponent("Metric", "PatternIntensity"));
  EXPECT_FALSE(isElastixComponent("Metric", "Pattern"));
  EXPECT_FALSE(isElastixComponent("Optimizer", "PatternIntensity"));
}

}
}
