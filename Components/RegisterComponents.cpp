#include "Components/RegisterComponents.h"

#include "Components/AddComponent.h"
#include "Components/FieldInterpolators/Separable.h"
#include "Components/FieldInterpolators/TextureHardware.h"
#include "Components/FieldInterpolators/ThreadPerTile.h"
#include "Components/FieldInterpolators/ThreadPerTileLinear.h"
#include "Components/FieldInterpolators/ThreadPerVoxel.h"
#include "Components/FieldInterpolators/ThreadPerVoxelTiled.h"
#include "Components/FieldInterpolators/VectorPerTile.h"
#include "Components/FieldInterpolators/VectorPerVoxel.h"
#include "Components/ImagePyramids/GenericImagePyramid.h"
#include "Components/ImagePyramids/RecursiveImagePyramid.h"
#include "Components/ImagePyramids/ShrinkingImagePyramid.h"
#include "Components/ImagePyramids/SmoothingImagePyramid.h"
#include "Components/ImageSamplers/FullSampler.h"
#include "Components/ImageSamplers/GridSampler.h"
#include "Components/ImageSamplers/MultiInputRandomCoordinateSampler.h"
#include "Components/ImageSamplers/RandomCoordinateSampler.h"
#include "Components/ImageSamplers/RandomSampler.h"
#include "Components/ImageSamplers/RandomSparseMaskSampler.h"
#include "Components/Interpolators/BSplineInterpolator.h"
#include "Components/Interpolators/LabelMajorityInterpolator.h"
#include "Components/Interpolators/LinearInterpolator.h"
#include "Components/Interpolators/NearestNeighborInterpolator.h"
#include "Components/Interpolators/ReducedDimensionBSplineInterpolator.h"
#include "Components/Metrics/AdvancedKappaStatistic.h"
#include "Components/Metrics/AdvancedMattesMutualInformation.h"
#include "Components/Metrics/AdvancedMeanSquares.h"
#include "Components/Metrics/AdvancedNormalizedCorrelation.h"
#include "Components/Metrics/CorrespondingPointsEuclideanDistanceMetric.h"
#include "Components/Metrics/DisplacementMagnitudePenalty.h"
#include "Components/Metrics/KNNGraphAlphaMutualInformation.h"
#include "Components/Metrics/LocalNormalizedCorrelation.h"
#include "Components/Metrics/MattesMutualInformationWithRigidityPenalty.h"
#include "Components/Metrics/NormalizedMutualInformation.h"
#include "Components/Metrics/PCAMetric.h"
#include "Components/Metrics/PCAMetric2.h"
#include "Components/Metrics/RobustNormalizedCorrelation.h"
#include "Components/Metrics/SelfSimilarity.h"
#include "Components/Metrics/SoftDice.h"
#include "Components/Metrics/SumOfPairwiseCorrelationCoefficientsMetric.h"
#include "Components/Metrics/SumSquaredTissueVolumeDifference.h"
#include "Components/Metrics/TransformBendingEnergyPenalty.h"
#include "Components/Metrics/TransformFoldingPenalty.h"
#include "Components/Metrics/TransformRigidityPenalty.h"
#include "Components/Metrics/VarianceOverLastDimensionMetric.h"
#include "Components/Optimizers/AdaptiveStochasticGradientDescent.h"
#include "Components/Optimizers/ConjugateGradient.h"
#include "Components/Optimizers/FullSearch.h"
#include "Components/Optimizers/QuasiNewtonLBFGS.h"
#include "Components/Optimizers/RegularStepGradientDescent.h"
#include "Components/Optimizers/StandardGradientDescent.h"
#include "Components/Registrations/MultiMetricMultiResolutionRegistration.h"
#include "Components/Registrations/MultiResolutionRegistration.h"
#include "Components/Registrations/MultiResolutionRegistrationWithFeatures.h"
#include "Components/Resamplers/DefaultResampler.h"
#include "Components/Transforms/AffineLogStackTransform.h"
#include "Components/Transforms/AffineLogTransform.h"
#include "Components/Transforms/AffineTransform.h"
#include "Components/Transforms/BSplineStackTransform.h"
#include "Components/Transforms/BSplineTransform.h"
#include "Components/Transforms/DeformationFieldTransform.h"
#include "Components/Transforms/EulerStackTransform.h"
#include "Components/Transforms/EulerTransform.h"
#include "Components/Transforms/SimilarityTransform.h"
#include "Components/Transforms/SplineKernelTransform.h"
#include "Components/Transforms/TranslationStackTransform.h"
#include "Components/Transforms/TranslationTransform.h"
#include "Components/Transforms/WeightedCombinationTransform.h"

namespace tessera {

void registerComponents(Registry& registry)
{
  addComponent<MultiResolutionRegistration>(registry);
  addComponent<MultiMetricMultiResolutionRegistration>(registry);
  addComponent<MultiResolutionRegistrationWithFeatures>(registry);

  addComponentTo4<SmoothingImagePyramid>(registry);
  addComponentTo4<RecursiveImagePyramid>(registry);
  addComponentTo4<ShrinkingImagePyramid>(registry);
  addComponentTo4<GenericImagePyramid>(registry);

  addComponentTo4<FullSampler>(registry);
  addComponentTo4<GridSampler>(registry);
  addComponentTo4<RandomSampler>(registry);
  addComponentTo4<RandomCoordinateSampler>(registry);
  addComponentTo4<MultiInputRandomCoordinateSampler>(registry);
  addComponentTo4<RandomSparseMaskSampler>(registry);

  addComponentTo4<BSplineInterpolator>(registry);
  addComponentTo4<LinearInterpolator>(registry);
  addComponentTo4<NearestNeighborInterpolator>(registry);
  addComponent<LabelMajorityInterpolator>(registry);
  addForSeries<ReducedDimensionBSplineInterpolator>(registry);

  addComponent<AdvancedMattesMutualInformation>(registry);
  addComponent<NormalizedMutualInformation>(registry);
  addComponent<AdvancedNormalizedCorrelation>(registry);
  addComponent<AdvancedMeanSquares>(registry);
  addComponent<LocalNormalizedCorrelation>(registry);
  addComponent<RobustNormalizedCorrelation>(registry);
  addComponentTo4<DisplacementMagnitudePenalty>(registry);
  addComponent<SelfSimilarity>(registry);
  addComponent<SoftDice>(registry);
  addComponent<AdvancedKappaStatistic>(registry);
  addComponent<SumSquaredTissueVolumeDifference>(registry);
  addComponent<TransformBendingEnergyPenalty>(registry);
  addComponent<TransformFoldingPenalty>(registry);
  addComponent<TransformRigidityPenalty>(registry);
  addComponent<MattesMutualInformationWithRigidityPenalty>(registry);
  addComponent<KNNGraphAlphaMutualInformation>(registry);
  addComponent<CorrespondingPointsEuclideanDistanceMetric>(registry);
  addForSeries<PCAMetric>(registry);
  addForSeries<PCAMetric2>(registry);
  addForSeries<SumOfPairwiseCorrelationCoefficientsMetric>(registry);
  addForSeries<VarianceOverLastDimensionMetric>(registry);

  addComponent<TranslationTransform>(registry);
  addComponent<EulerTransform>(registry);
  addComponent<SimilarityTransform>(registry);
  addComponent<AffineTransform>(registry);
  addComponent<AffineLogTransform>(registry);
  addComponentTo4<BSplineTransform>(registry);
  addForSeries<BSplineStackTransform>(registry);
  addForSeries<EulerStackTransform>(registry);
  addForSeries<TranslationStackTransform>(registry);
  addForSeries<AffineLogStackTransform>(registry);
  addComponent<SplineKernelTransform>(registry);
  addComponent<DeformationFieldTransform>(registry);
  addComponent<WeightedCombinationTransform>(registry);

  addComponent<Separable>(registry);
  addComponent<TextureHardware>(registry);
  addComponent<ThreadPerTile>(registry);
  addComponent<ThreadPerTileLinear>(registry);
  addComponent<ThreadPerVoxel>(registry);
  addComponent<ThreadPerVoxelTiled>(registry);
  addComponent<VectorPerTile>(registry);
  addComponent<VectorPerVoxel>(registry);

  addComponent<AdaptiveStochasticGradientDescent>(registry);
  addComponent<StandardGradientDescent>(registry);
  addComponent<RegularStepGradientDescent>(registry);
  addComponent<QuasiNewtonLBFGS>(registry);
  addComponent<ConjugateGradient>(registry);
  addComponent<FullSearch>(registry);

  addComponentTo4<DefaultResampler>(registry);
}

}
