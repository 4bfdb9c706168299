#pragma once

// Series: images of two or three dimensions over time, the last axis.

#include "Components/Interpolators/ReducedDimensionBSplineInterpolator.h"
#include "Components/Transforms/BSplineStackTransform.h"
#include "Core/Registration/Samples/TimeSlices.h"
#include "Testing/Support/Checks/TermChecks.h"

#include <memory>
#include <string>

namespace tessera::testing {

/// Turned in space, with times 2.5 apart from 1.25 on.
template <int D>
ImageGeometry<D> geometryOfSeries(const Size<D>& size)
{
  ImageGeometry<D> geometry;
  geometry.size = size;
  geometry.spacingMm.fill(1.5);
  geometry.spacingMm[0] = 1.25;
  geometry.spacingMm[1] = 1.75;
  geometry.spacingMm[D - 1] = 2.5;
  geometry.originMm.fill(-6.5);
  geometry.originMm[0] = 31.5;
  geometry.originMm[1] = -25.75;
  geometry.originMm[D - 1] = 1.25;
  geometry.direction[0][0] = geometry.direction[1][1] = 0.8;
  geometry.direction[0][1] = -0.6;
  geometry.direction[1][0] = 0.6;
  return geometry;
}
inline ImageGeometry<3> seriesGeometry(const Size<3>& size)
{
  return geometryOfSeries<3>(size);
}

/// Blobs that move through time by up to 2 mm.
template <int D>
Image<D> drawSeries(const ImageGeometry<D>& geometry)
{
  const auto blobs = scatteredBlobs<D - 1>(sliceGeometry<D>(geometry), 12, 5);
  return drawImage<D>(geometry, [&](const Vec<D>& p) {
    Vec<D - 1> place{p[0] + 2 * std::sin(p[D - 1]), p[1] - 2 * std::cos(1.3 * p[D - 1])};
    if constexpr (D == 4)
      place[2] = p[2] + std::sin(0.7 * p[3]);
    return sumOf(blobs, place);
  });
}

/// A series as both images of a level, with a stack of B-splines that moves each time on its own.
template <int D>
struct SeriesSceneOf {
  std::shared_ptr<const Image<D>> series;
  std::unique_ptr<ReducedDimensionBSplineInterpolator<D>> interpolator;
  std::shared_ptr<TransformChain<D>> chain = std::make_shared<TransformChain<D>>();
  TermLevel<D> level;

  explicit SeriesSceneOf(int order = 3, const Size<D>& size = usualSize())
      : series(std::make_shared<const Image<D>>(drawSeries<D>(geometryOfSeries<D>(size))))
  {
    interpolator = std::make_unique<ReducedDimensionBSplineInterpolator<D>>(
        parametersOf("(BSplineInterpolationOrder " + std::to_string(order) + ")", D, 1, "Interpolator0"));
    interpolator->prepareForLevel(host, series, 0);
    level.fixed = level.moving = series;
    level.interpolator = interpolator.get();
    level.chain = chain.get();
    use(std::make_shared<BSplineStackTransform<D>>(
            parametersOf("(FinalGridSpacingInPhysicalUnits 12)", D, 1, "Transform0")),
        1.5);
  }

  static Size<D> usualSize()
  {
    if constexpr (D == 4)
      return {14, 13, 9, 4};
    else
      return {26, 22, 5};
  }

  void use(std::shared_ptr<OptimizableTransform<D>> transform, double amplitude)
  {
    chain->parameters = transform->initialize(host, {series, series, nullptr, nullptr, nullptr, nullptr});
    for (double& parameter : chain->parameters)
      parameter +=
          amplitude
          * checks::randomVector(1, static_cast<std::uint64_t>(&parameter - chain->parameters.data()))[0];
    chain->transform = transform;
  }

  /// The transform in use becomes T0.
  void useAsInitial(Combination combination)
  {
    chain = linkAfter<D>(chain, combination);
    level.chain = chain.get();
  }

  /// Every `step`-th voxel along each axis.
  SampleSet<D> lattice(std::size_t step) const
  {
    Size<D> steps;
    steps.fill(step);
    return gridOfStep<D>(steps, series, wholeBox<D>(series->geometry), level.fixedMask);
  }

  /// Points between voxels in the inner part of the series, without an intensity of the fixed image.
  PointList<D> points(std::size_t count, double margin = 0.2) const
  {
    PointList<D> list;
    list.fixed.assign(count, 0);
    for (auto& axis : list.mm)
      axis.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      Vec<D> index;
      for (int d = 0; d < D; ++d)
        index[d] = (margin + (1 - 2 * margin) * checks::randomVector(1, D * i + d, 0, 1)[0])
                   * (static_cast<double>(series->geometry.size[d]) - 1);
      const Vec<D> pointMm = series->geometry.pointFromIndex()(index);
      for (int d = 0; d < D; ++d)
        list.mm[d][i] = pointMm[d];
    }
    return list;
  }
};
using SeriesScene = SeriesSceneOf<3>;

/// A metric with these parameters, prepared for the scene.
template <class Metric, int D>
Metric metricOfSeries(const SeriesSceneOf<D>& scene, const std::string& text = "")
{
  Metric metric(parametersOf(text, D, 1, "Metric0"));
  metric.prepareForLevel(host, scene.level);
  return metric;
}

/// The moving image at T(x_p, t) of each place (rows) at all times, NaN outside.
template <int D>
std::vector<std::vector<double>> valuesOverTime(const SeriesSceneOf<D>& scene, const PointList<D>& places)
{
  const ImageGeometry<D>& geometry = scene.series->geometry;
  std::vector<std::vector<double>> values(places.positions());
  for (std::size_t p = 0; p < values.size(); ++p)
    for (std::size_t t = 0; t < geometry.size[D - 1]; ++t) {
      PointBatch<D> point;
      point.count = 1;
      Vec<D> pointMm;
      for (int d = 0; d + 1 < D; ++d)
        pointMm[d] = places.mm[d][p];
      pointMm[D - 1] = geometry.originMm[D - 1] + geometry.spacingMm[D - 1] * static_cast<double>(t);
      point.set(0, pointMm);
      mapChain<D>(host, *scene.chain, point.list(), point.out());
      float value = 0;
      std::uint8_t inside = 0;
      scene.interpolator->evaluate(host, point.list(), &value, nullptr, &inside);
      const bool counts =
          inside && (!scene.level.movingMask || scene.level.movingMask->contains(point.point(0)));
      values[p].push_back(counts ? value : std::nan(""));
    }
  return values;
}

}
