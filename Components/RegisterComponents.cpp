#include "Components/RegisterComponents.h"

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
#include "Components/ImageSamplers/RandomCoordinateSampler.h"
#include "Components/ImageSamplers/RandomSampler.h"
#include "Components/ImageSamplers/RandomSparseMaskSampler.h"
#include "Components/Interpolators/BSplineInterpolator.h"
#include "Components/Interpolators/LabelMajorityInterpolator.h"
#include "Components/Interpolators/LinearInterpolator.h"
#include "Components/Interpolators/NearestNeighborInterpolator.h"
#include "Components/Metrics/AdvancedMattesMutualInformation.h"
#include "Components/Metrics/AdvancedMeanSquares.h"
#include "Components/Metrics/AdvancedNormalizedCorrelation.h"
#include "Components/Metrics/CorrespondingPointsEuclideanDistanceMetric.h"
#include "Components/Metrics/NormalizedMutualInformation.h"
#include "Components/Metrics/TransformBendingEnergyPenalty.h"
#include "Components/Optimizers/AdaptiveStochasticGradientDescent.h"
#include "Components/Optimizers/ConjugateGradient.h"
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
#include "Core/Registration/Terms/ImageTerm.h"

namespace tessera {
namespace {

/// A class template on the dimension, made from (const Parameters&), in a role that is one too.
template <template <int> class Role, template <int> class Component>
void addBoth(Registry& registry)
{
  registry.add<Role<2>, Component<2>>();
  registry.add<Role<3>, Component<3>>();
}

template <template <int> class Component>
void addPyramid(Registry& registry)
{
  const auto add = [&]<int D>() {
    const auto make = [](ImageSide side) {
      return
          [side](const Parameters& parameters) { return std::make_unique<Component<D>>(parameters, side); };
    };
    registry.add<FixedImagePyramid<D>>(
        Component<D>::description(ImageSide::fixed), [=](const Parameters& parameters) {
          return std::make_unique<FixedImagePyramid<D>>(make(ImageSide::fixed)(parameters));
        });
    registry.add<MovingImagePyramid<D>>(
        Component<D>::description(ImageSide::moving), [=](const Parameters& parameters) {
          return std::make_unique<MovingImagePyramid<D>>(make(ImageSide::moving)(parameters));
        });
  };
  add.template operator()<2>();
  add.template operator()<3>();
}

/// As (Interpolator "X") and as (ResampleInterpolator "FinalX").
template <template <int> class Component>
void addInterpolator(Registry& registry)
{
  addBoth<Interpolator, Component>(registry);
  const auto add = [&]<int D>() {
    static constexpr InterpolatorUse use = InterpolatorUse::resampling;
    registry.add<ResampleInterpolator<D>>(Component<D>::description(use), [](const Parameters& parameters) {
      return std::make_unique<ResampleInterpolator<D>>(std::make_unique<Component<D>>(parameters, use));
    });
  };
  add.template operator()<2>();
  add.template operator()<3>();
}

/// As (ResampleInterpolator "X") alone.
template <template <int> class Component>
void addResampleInterpolator(Registry& registry)
{
  const auto add = [&]<int D>() {
    registry.add<ResampleInterpolator<D>>(Component<D>::description(), [](const Parameters& parameters) {
      return std::make_unique<ResampleInterpolator<D>>(std::make_unique<Component<D>>(parameters));
    });
  };
  add.template operator()<2>();
  add.template operator()<3>();
}

}

void registerComponents(Registry& registry)
{
  registry.add<Registration, MultiResolutionRegistration>();
  registry.add<Registration, MultiMetricMultiResolutionRegistration>();

  addPyramid<SmoothingImagePyramid>(registry);
  addPyramid<RecursiveImagePyramid>(registry);
  addPyramid<ShrinkingImagePyramid>(registry);
  addPyramid<GenericImagePyramid>(registry);

  addBoth<ImageSampler, FullSampler>(registry);
  addBoth<ImageSampler, GridSampler>(registry);
  addBoth<ImageSampler, RandomSampler>(registry);
  addBoth<ImageSampler, RandomCoordinateSampler>(registry);
  addBoth<ImageSampler, RandomSparseMaskSampler>(registry);

  addInterpolator<BSplineInterpolator>(registry);
  addInterpolator<LinearInterpolator>(registry);
  addInterpolator<NearestNeighborInterpolator>(registry);
  addResampleInterpolator<LabelMajorityInterpolator>(registry);

  addImageMetric<AdvancedMattesMutualInformation>(registry);
  addImageMetric<NormalizedMutualInformation>(registry);
  addImageMetric<AdvancedNormalizedCorrelation>(registry);
  addImageMetric<AdvancedMeanSquares>(registry);
  addBoth<CostTerm, TransformBendingEnergyPenalty>(registry);
  addBoth<CostTerm, CorrespondingPointsEuclideanDistanceMetric>(registry);

  addBoth<Transform, TranslationTransform>(registry);
  addBoth<Transform, EulerTransform>(registry);
  addBoth<Transform, SimilarityTransform>(registry);
  addBoth<Transform, AffineTransform>(registry);
  addBoth<Transform, BSplineTransform>(registry);
  addBoth<Transform, SplineKernelTransform>(registry);
  addBoth<Transform, DeformationFieldTransform>(registry);

  addBoth<FieldInterpolator, Separable>(registry);
  addBoth<FieldInterpolator, TextureHardware>(registry);
  addBoth<FieldInterpolator, ThreadPerTile>(registry);
  addBoth<FieldInterpolator, ThreadPerTileLinear>(registry);
  addBoth<FieldInterpolator, ThreadPerVoxel>(registry);
  addBoth<FieldInterpolator, ThreadPerVoxelTiled>(registry);
  addBoth<FieldInterpolator, VectorPerTile>(registry);
  addBoth<FieldInterpolator, VectorPerVoxel>(registry);

  registry.add<Optimizer, AdaptiveStochasticGradientDescent>();
  registry.add<Optimizer, StandardGradientDescent>();
  registry.add<Optimizer, RegularStepGradientDescent>();
  registry.add<Optimizer, QuasiNewtonLBFGS>();
  registry.add<Optimizer, ConjugateGradient>();

  addBoth<Resampler, DefaultResampler>(registry);
}

}
