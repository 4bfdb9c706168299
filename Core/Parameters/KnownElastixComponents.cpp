#include "Core/Parameters/KnownElastixComponents.h"

#include <algorithm>
#include <array>
#include <string>

namespace tessera {
namespace {

struct Known {
  std::string_view role;
  std::string_view names; // separated by single blanks
};

constexpr std::array<Known, 10> knownComponents{{
    {"Registration", "MultiResolutionRegistration MultiMetricMultiResolutionRegistration "
                     "MultiResolutionRegistrationWithFeatures"},
    {"Transform", "TranslationTransform EulerTransform SimilarityTransform AffineTransform BSplineTransform "
                  "RecursiveBSplineTransform BSplineStackTransform TranslationStackTransform "
                  "EulerStackTransform AffineLogStackTransform AffineDTITransform AffineLogTransform "
                  "SplineKernelTransform WeightedCombinationTransform DeformationFieldTransform "
                  "MultiBSplineTransformWithNormal BSplineTransformWithDiffusion ExternalTransform File"},
    {"Metric",
     "AdvancedMattesMutualInformation NormalizedMutualInformation AdvancedNormalizedCorrelation "
     "AdvancedMeanSquares AdvancedKappaStatistic TransformBendingEnergyPenalty TransformRigidityPenalty "
     "DistancePreservingRigidityPenalty DisplacementMagnitudePenalty "
     "CorrespondingPointsEuclideanDistanceMetric SumSquaredTissueVolumeDifference "
     "VarianceOverLastDimensionMetric PCAMetric PCAMetric2 SumOfPairwiseCorrelationCoefficientsMetric "
     "KNNGraphAlphaMutualInformation PatternIntensity NormalizedGradientCorrelation GradientDifference "
     "StatisticalShapePenalty MissingStructurePenalty PolydataDummyPenalty Impact ViolaWells "
     "MutualInformationHistogram MattesMutualInformation MattesMutualInformationWithRigidityPenalty"},
    {"Optimizer",
     "AdaptiveStochasticGradientDescent StandardGradientDescent RegularStepGradientDescent "
     "RSGDEachParameterApart QuasiNewtonLBFGS ConjugateGradient ConjugateGradientFRPR Powell Simplex "
     "CMAEvolutionStrategy FullSearch FiniteDifferenceGradientDescent SimultaneousPerturbation "
     "PreconditionedGradientDescent PreconditionedStochasticGradientDescent AdaGrad AdaptiveStochasticLBFGS "
     "AdaptiveStochasticVarianceReducedGradient"},
    {"ImageSampler", "RandomCoordinate MultiInputRandomCoordinate Random RandomSparseMask Grid Full"},
    {"Interpolator", "BSplineInterpolator BSplineInterpolatorFloat ReducedDimensionBSplineInterpolator "
                     "LinearInterpolator NearestNeighborInterpolator RayCastInterpolator"},
    {"ResampleInterpolator",
     "FinalBSplineInterpolator FinalBSplineInterpolatorFloat FinalReducedDimensionBSplineInterpolator "
     "FinalLinearInterpolator FinalNearestNeighborInterpolator FinalRayCastInterpolator"},
    {"Resampler", "DefaultResampler OpenCLResampler CUDAResampler"},
    {"FixedImagePyramid", "FixedSmoothingImagePyramid FixedRecursiveImagePyramid FixedShrinkingImagePyramid "
                          "FixedGenericImagePyramid OpenCLFixedGenericImagePyramid"},
    {"MovingImagePyramid",
     "MovingSmoothingImagePyramid MovingRecursiveImagePyramid MovingShrinkingImagePyramid "
     "MovingGenericImagePyramid OpenCLMovingGenericImagePyramid"},
}};

}

bool isElastixComponent(std::string_view role, std::string_view name)
{
  const std::string word = " " + std::string(name) + " ";
  return name.find(' ') == std::string_view::npos
         && std::ranges::any_of(knownComponents, [&](const Known& known) {
              return known.role == role
                     && (" " + std::string(known.names) + " ").find(word) != std::string::npos;
            });
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
