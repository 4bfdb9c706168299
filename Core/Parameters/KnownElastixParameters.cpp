#include "Core/Parameters/KnownElastixParameters.h"

#include <algorithm>
#include <array>

namespace tessera {
namespace {

constexpr std::string_view otherComponents = "of components that Tessera does not have";
constexpr std::string_view obsolete = "obsolete in elastix";

constexpr std::array<ElastixParameterGroup, 18> groups{{
    {"Transform", otherComponents,
     "TransformAddress WriteDiffusionFiles MultiBSplineTransformWithNormalLabels"},
    {"Transform", "Tessera solves for the spline in its own way", "TPSMatrixInversionMethod"},
    {"Transform", obsolete, "FinalGridSpacing UpsampleGridOption"},

    {"Metric", otherComponents,
     "SegmentedImageName PenaltyGridSpacingInVoxels TemplateImage Combination Sigma "
     "OptimizeNormalizationFactor NormalizedShapeModel ShapeModelCalculation ShrinkageIntensity BaseVariance "
     "CentroidXVariance CentroidYVariance CentroidZVariance SizeVariance CutOffValue CutOffSharpness "
     "WriteResultMeshAfterEachIteration WriteResultMeshAfterEachResolution ResultMeshFormat"},
    {"Metric", otherComponents,
     "ImpactModelsPath# ImpactDimension# ImpactNumberOfChannels# ImpactPatchSize# ImpactVoxelSize# "
     "ImpactLayersMask# ImpactSubsetFeatures# ImpactLayersWeight# ImpactPCA# ImpactDistance# ImpactGPU "
     "ImpactMode ImpactFeaturesMapUpdateInterval ImpactUseMixedPrecision ImpactWriteFeatureMaps"},
    {"Metric", "the slope is computed without a table of derivatives", "UseExplicitPDFDerivatives"},
    {"Metric", "all pairs of samples are compared, so that neighbours are exact without a tree",
     "TreeType BucketSize SplittingRule FixedSplittingRule MovingSplittingRule JointSplittingRule "
     "ShrinkingRule FixedShrinkingRule MovingShrinkingRule JointShrinkingRule TreeSearchType ErrorBound "
     "SquaredSearchRadius"},
    {"Metric", obsolete, "UseAllPixels UseDifferentiableOverlap MovingImageBSplineInterpolationOrder"},
    {"", "of registrations with several metrics", "Metric#Weight Metric#RelativeWeight Metric#Use"},

    {"Optimizer", otherComponents,
     "ValueTolerance LineSearchStepTolerance AutomaticInitialSimplex InitialSimplexDelta PopulationSize "
     "NumberOfParents UseDecayingSigma UseCovarianceMatrixAdaptation RecombinationWeightsPreset "
     "UpdateBDPeriod PositionToleranceMin PositionToleranceMax MaximumDeviation MinimumDeviation "
     "NumberOfPerturbations ShowMetricValues StepTolerance SP_c SP_gamma RegularizationKappa ConditionNumber "
     "StepSizeStrategy"},

    {"ImageSampler", "-threads sets the threads", "UseMultiThreadingForSamplers"},
    {"Interpolator", otherComponents, "PreParameters FocalPoint Threshold"},
    {"ResampleInterpolator", otherComponents, "PreParameters FocalPoint Threshold"},

    {"FixedImagePyramid", otherComponents, "OpenCLFixedGenericImagePyramidUseOpenCL"},
    {"MovingImagePyramid", otherComponents, "OpenCLMovingGenericImagePyramidUseOpenCL"},
    {"Resampler", otherComponents, "OpenCLResamplerUseOpenCL OpenCLDeviceType OpenCLDeviceID UseCUDA"},

    {"", "transform files are text with all digits",
     "UseBinaryFormatForTransformationParameters DefaultOutputPrecision"},
    {"", "Tessera reports errors and frees memory in its own way",
     "PrintErrorMessages ReleaseMemoryBeforeResampling"},
}};

constexpr std::string_view unknownToElastix =
    "AutomaticTransformInitializationSearchAngle BendingEnergyIntegration BendingEnergyUnit "
    "ConvergenceThreshold ConvergenceWindow CropToContent FoldingSampleGridSpacing GradientSummation "
    "IntensityBoundUnit LeaveOutFilling LineSearch LocalIntensityNoise LocalWindowRadius LocalWindowSigma "
    "OutlierDifference OutlierShare PointErrorInMm ScheduleForImageSize SplineSmoothing "
    "ToleratedVolumeFactor";

bool isDigit(char c)
{
  return c >= '0' && c <= '9';
}

/// # in the pattern takes one or more digits.
bool fits(std::string_view pattern, std::string_view name)
{
  while (!pattern.empty() && !name.empty()) {
    if (pattern.front() == '#' && isDigit(name.front()))
      name.remove_prefix(std::min(name.find_first_not_of("0123456789"), name.size()));
    else if (pattern.front() == name.front())
      name.remove_prefix(1);
    else
      return false;
    pattern.remove_prefix(1);
  }
  return pattern.empty() && name.empty();
}

template <class Visit>
bool anyWord(std::string_view words, Visit visit)
{
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (visit(words.substr(0, end)))
      return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

}

std::string_view afterLabel(std::string_view name, std::string_view role)
{
  if (role.empty() || !name.starts_with(role))
    return {};
  name.remove_prefix(role.size());
  const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
  return digits == 0 ? std::string_view() : name.substr(digits);
}

const ElastixParameterGroup* findElastixParameter(std::string_view name)
{
  const auto lists = [&](const ElastixParameterGroup& group) {
    const std::string_view unlabelled = afterLabel(name, group.role);
    return anyWord(group.names,
                   [&](std::string_view known) { return fits(known, name) || fits(known, unlabelled); });
  };
  const auto found = std::ranges::find_if(groups, lists);
  return found == groups.end() ? nullptr : &*found;
}

bool isUnknownToElastix(std::string_view name, std::string_view role)
{
  const std::string_view unlabelled = afterLabel(name, role);
  return anyWord(unknownToElastix, [&](std::string_view own) { return own == name || own == unlabelled; });
}

std::vector<std::string> elastixParameterNames()
{
  std::vector<std::string> names;
  for (const ElastixParameterGroup& group : groups)
    anyWord(group.names, [&](std::string_view known) {
      if (known.find('#') == std::string_view::npos)
        names.emplace_back(known);
      return false;
    });
  return names;
}

}
