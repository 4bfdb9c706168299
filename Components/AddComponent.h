#pragma once

#include "Components/Interpolators/Shared/InterpolatorUse.h"
#include "Core/Image/ImageSide.h"
#include "Core/Registration/FieldInterpolator.h"
#include "Core/Registration/ImagePyramid.h"
#include "Core/Registration/ImageSampler.h"
#include "Core/Registration/Interpolator.h"
#include "Core/Registration/Optimizer.h"
#include "Core/Registration/Registration.h"
#include "Core/Registration/Resampler.h"
#include "Core/Registration/Terms/ImageTerm.h"
#include "Core/Registry/Registry.h"

#include <concepts>

namespace tessera {

/// Adds an image pyramid for one side, whose role is FixedImagePyramid or MovingImagePyramid.
template <class Role, class Component>
void addPyramid(Registry& registry, ImageSide side)
{
  registry.add<Role>(Component::description(side), [side](const Parameters& parameters) {
    auto pyramid = std::make_unique<Role>();
    pyramid->pyramid = std::make_unique<Component>(parameters, side);
    return pyramid;
  });
}

/// Adds an interpolator whose description asks for the InterpolatorUse as (Interpolator "X") and as
/// (ResampleInterpolator "X"), and any other one as (ResampleInterpolator "X") alone.
template <int D, class Component>
void addInterpolator(Registry& registry)
{
  static constexpr InterpolatorUse use = InterpolatorUse::resampling;
  if constexpr (requires { Component::description(use); }) {
    registry.add<Interpolator<D>, Component>();
    registry.add<ResampleInterpolator<D>>(Component::description(use), [](const Parameters& parameters) {
      return std::make_unique<ResampleInterpolator<D>>(std::make_unique<Component>(parameters, use));
    });
  } else {
    registry.add<ResampleInterpolator<D>>(Component::description(), [](const Parameters& parameters) {
      return std::make_unique<ResampleInterpolator<D>>(std::make_unique<Component>(parameters));
    });
  }
}

/// Adds a transform, which may take the registry to read other transforms. Then the registry must stay where
/// it is.
template <int D, class Component>
void addTransform(Registry& registry)
{
  if constexpr (std::constructible_from<Component, const Parameters&, const Registry&>)
    registry.add<Transform<D>>(Component::description(), [&registry](const Parameters& parameters) {
      return std::make_unique<Component>(parameters, registry);
    });
  else
    registry.add<Transform<D>, Component>();
}

/// Adds a class to the role whose interface it implements, images being of D dimensions.
template <int D, class Component>
void addForDimension(Registry& registry)
{
  if constexpr (std::derived_from<Component, ImagePyramid<D>>) {
    addPyramid<FixedImagePyramid<D>, Component>(registry, ImageSide::fixed);
    addPyramid<MovingImagePyramid<D>, Component>(registry, ImageSide::moving);
  } else if constexpr (std::derived_from<Component, Interpolator<D>>)
    addInterpolator<D, Component>(registry);
  else if constexpr (std::derived_from<Component, ImageSampler<D>>)
    registry.add<ImageSampler<D>, Component>();
  else if constexpr (std::derived_from<Component, Transform<D>>)
    addTransform<D, Component>(registry);
  else if constexpr (std::derived_from<Component, FieldInterpolator<D>>)
    registry.add<FieldInterpolator<D>, Component>();
  else if constexpr (std::derived_from<Component, CostTerm<D>>)
    registry.add<CostTerm<D>, Component>();
  else
    registry.add<Resampler<D>, Component>();
}

/// Adds an image metric: a formula of pairs of intensities, or a metric on lattices.
template <int D, class Component>
void addImageMetric(Registry& registry)
{
  registry.add<CostTerm<D>>(Component::description(), [](const Parameters& parameters) {
    return std::make_unique<ImageTerm<D>>(parameters, makeMetric<Component>(parameters));
  });
}

/// Adds a component of series, whose last axis is time: of images of two and of three dimensions over time.
template <template <int> class Component>
void addForSeries(Registry& registry)
{
  addForDimension<3, Component<3>>(registry);
  addForDimension<4, Component<4>>(registry);
}

/// Adds a component to the registry, for images of two and of three dimensions; the role follows from the
/// interface that the class implements. Names come from the component's description().
template <template <int> class Component>
void addComponent(Registry& registry)
{
  addForDimension<2, Component<2>>(registry);
  addForDimension<3, Component<3>>(registry);
}
/// Adds a component for images of two and of three dimensions and for series of either.
template <template <int> class Component>
void addComponentTo4(Registry& registry)
{
  addComponent<Component>(registry);
  addForDimension<4, Component<4>>(registry);
}
template <class Component>
void addComponent(Registry& registry)
{
  if constexpr (std::derived_from<Component, Registration>)
    registry.add<Registration, Component>();
  else if constexpr (std::derived_from<Component, Optimizer>)
    registry.add<Optimizer, Component>();
  else {
    addImageMetric<2, Component>(registry);
    addImageMetric<3, Component>(registry);
  }
}

}
