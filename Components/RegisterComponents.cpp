#include "Components/RegisterComponents.h"

#include "Components/ImagePyramids/GenericImagePyramid.h"
#include "Components/ImagePyramids/RecursiveImagePyramid.h"
#include "Components/ImagePyramids/ShrinkingImagePyramid.h"
#include "Components/ImagePyramids/SmoothingImagePyramid.h"
#include "Components/ImageSamplers/FullSampler.h"
#include "Components/ImageSamplers/GridSampler.h"
#include "Components/ImageSamplers/RandomCoordinateSampler.h"
#include "Components/ImageSamplers/RandomSampler.h"
#include "Components/ImageSamplers/RandomSparseMaskSampler.h"
#include "Components/Interpolators/BSplineInterpolator.h"
#include "Components/Interpolators/LinearInterpolator.h"
#include "Components/Interpolators/NearestNeighborInterpolator.h"
#include "Components/Metrics/AdvancedMattesMutualInformation.h"
#include "Components/Metrics/AdvancedMeanSquares.h"
#include "Components/Metrics/AdvancedNormalizedCorrelation.h"
#include "Components/Metrics/CorrespondingPointsEuclideanDistanceMetric.h"
#include "Components/Metrics/NormalizedMutualInformation.h"
#include "Components/Metrics/TransformBendingEnergyPenalty.h"
#include "Components/Optimizers/AdaptiveStochasticGradientDescent.h"
#include "Components/Optimizers/QuasiNewtonLBFGS.h"
#include "Components/Optimizers/RegularStepGradientDescent.h"
#include "Components/Optimizers/StandardGradientDescent.h"
#include "Components/Registrations/MultiMetricMultiResolutionRegistration.h"
#include "Components/Registrations/MultiResolutionRegistration.h"
#include "Components/Resamplers/DefaultResampler.h"
#include "Components/Transforms/AffineTransform.h"
#include "Components/Transforms/BSplineTransform.h"
#include "Components/Transforms/DeformationFieldTransform.h"
#include "Components/Transforms/EulerTransform.h"
#include "Components/Transforms/SimilarityTransform.h"
#include "Components/Transforms/SplineKernelTransform.h"
#include "Components/Transforms/TranslationTransform.h"

namespace tessera {
namespace {

/// A class template on the dimension, made from (const Parameters&), in a role that is one too.
template <template <int> class Role, template <int> class Component>
void addBoth(Registry& registry)
{
  registry.add<Role<2>, Component<2>>();
  registry.add<Role<3>, Component<3>>();
}

}

void registerComponents(Registry& registry)
{
  registry.add<Registration, MultiResolutionRegistration>();
  registry.add<Registration, MultiMetricMultiResolutionRegistration>();

  addBoth<ImageSampler, FullSampler>(registry);
  addBoth<ImageSampler, GridSampler>(registry);
  addBoth<ImageSampler, RandomSampler>(registry);
  addBoth<ImageSampler, RandomCoordinateSampler>(registry);
  addBoth<ImageSampler, RandomSparseMaskSampler>(registry);

  addBoth<Transform, TranslationTransform>(registry);
  addBoth<Transform, EulerTransform>(registry);
  addBoth<Transform, SimilarityTransform>(registry);
  addBoth<Transform, AffineTransform>(registry);
  addBoth<Transform, BSplineTransform>(registry);
  addBoth<Transform, SplineKernelTransform>(registry);
  addBoth<Transform, DeformationFieldTransform>(registry);

  registry.add<Optimizer, AdaptiveStochasticGradientDescent>();
  registry.add<Optimizer, StandardGradientDescent>();
  registry.add<Optimizer, RegularStepGradientDescent>();
  registry.add<Optimizer, QuasiNewtonLBFGS>();
}

}
