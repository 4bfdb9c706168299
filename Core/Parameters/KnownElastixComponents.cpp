#include "Core/Parameters/KnownElastixComponents.h"

#include <algorithm>
#include <array>

namespace tessera {
namespace {

struct Known {
  std::string_view role;
  std::string_view names; // separated by single blanks
};

constexpr std::array<Known, 10> knownComponents{{
    {"Registration", "MultiResolutionRegistration MultiMetricMultiResolutionRegistration "
                     "MultiResolutionRegistrationWithFeatures"},
    {"Transform",
     "TranslationTransform EulerTransform SimilarityTransform AffineTransform BSplineTransform "
     "RecursiveBSplineTransform BSplineStackTransform TranslationStackTransform EulerStackTransform "
     "AffineLogStackTransform AffineDTITransform AffineLogTransform SplineKernelTransform "
     "WeightedCombinationTransform DeformationFieldTransform MultiBSplineTransformWithNormal "
     "BSplineTransformWithDiffusion ExternalTransform File"},
    {"Metric",
     "AdvancedMattesMutualInformation NormalizedMutualInformation AdvancedNormalizedCorrelation "
     "AdvancedMeanSquares AdvancedKappaStatistic TransformBendingEnergyPenalty TransformRigidityPenalty "
     "DistancePreservingRigidityPenalty DisplacementMagnitudePenalty "
     "CorrespondingPointsEuclideanDistanceMetric SumSquaredTissueVolumeDifference "
     "VarianceOverLastDimensionMetric PCAMetric PCAMetric2 SumOfPairwiseCorrelationCoefficientsMetric "
     "KNNGraphAlphaMutualInformation PatternIntensity NormalizedGradientCorrelation GradientDifference "
     "StatisticalShapePenalty MissingStructurePenalty PolydataDummyPenalty Impact ViolaWells "
     "MutualInformationHistogram MattesMutualInformation MattesMutualInformationWithRigidityPenalty"},
    {"Optimizer", "AdaptiveStochasticGradientDescent StandardGradientDescent RegularStepGradientDescent "
                  "RSGDEachParameterApart QuasiNewtonLBFGS ConjugateGradient ConjugateGradientFRPR Powell "
                  "Simplex CMAEvolutionStrategy FullSearch FiniteDifferenceGradientDescent "
                  "SimultaneousPerturbation PreconditionedGradientDescent "
                  "PreconditionedStochasticGradientDescent AdaGrad AdaptiveStochasticLBFGS "
                  "AdaptiveStochasticVarianceReducedGradient"},
    {"ImageSampler", "RandomCoordinate MultiInputRandomCoordinate Random RandomSparseMask Grid Full"},
    {"Interpolator",
     "BSplineInterpolator BSplineInterpolatorFloat ReducedDimensionBSplineInterpolator LinearInterpolator "
     "NearestNeighborInterpolator RayCastInterpolator"},
    {"ResampleInterpolator", "FinalBSplineInterpolator FinalBSplineInterpolatorFloat "
                             "FinalReducedDimensionBSplineInterpolator FinalLinearInterpolator "
                             "FinalNearestNeighborInterpolator FinalRayCastInterpolator"},
    {"Resampler", "DefaultResampler OpenCLResampler CUDAResampler"},
    {"FixedImagePyramid", "FixedSmoothingImagePyramid FixedRecursiveImagePyramid FixedShrinkingImagePyramid "
                          "FixedGenericImagePyramid OpenCLFixedGenericImagePyramid"},
    {"MovingImagePyramid", "MovingSmoothingImagePyramid MovingRecursiveImagePyramid "
                           "MovingShrinkingImagePyramid MovingGenericImagePyramid "
                           "OpenCLMovingGenericImagePyramid"},
}};

bool hasWord(std::string_view words, std::string_view word)
{
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (words.substr(0, end) == word)
      return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

}

bool isElastixComponent(std::string_view role, std::string_view name)
{
  return std::ranges::any_of(
      knownComponents, [&](const Known& known) { return known.role == role && hasWord(known.names, name); });
}

std::string_view replacedComponentNote(std::string_view role, std::string_view name)
{
  if (role == "Resampler" && (name == "CUDAResampler" || name == "OpenCLResampler"))
    return "DefaultResampler does its work; (Device ...) or --device says where";
  if (name == "OpenCLFixedGenericImagePyramid" || name == "OpenCLMovingGenericImagePyramid")
    return "GenericImagePyramid does its work; (Device ...) or --device says where";
  return "";
}

}
