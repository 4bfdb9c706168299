#pragma once

// Series: images of two dimensions over time, the last axis.

#include "Components/Interpolators/ReducedDimensionBSplineInterpolator.h"
#include "Components/Transforms/BSplineStackTransform.h"
#include "Testing/Support/Checks/TermChecks.h"

#include <memory>
#include <string>

namespace tessera::testing {

/// Turned in space, with times 2.5 apart from 1.25 on.
inline ImageGeometry<3> seriesGeometry(const Size<3>& size)
{
  return {size, {1.25, 1.75, 2.5}, {31.5, -25.75, 1.25}, {{{0.8, -0.6, 0}, {0.6, 0.8, 0}, {0, 0, 1}}}};
}

/// Blobs that move through time by up to 2 mm.
inline Image<3> drawSeries(const ImageGeometry<3>& geometry)
{
  const auto blobs = scatteredBlobs<2>({{geometry.size[0], geometry.size[1]},
                                        {geometry.spacingMm[0], geometry.spacingMm[1]},
                                        {geometry.originMm[0], geometry.originMm[1]},
                                        {{{0.8, -0.6}, {0.6, 0.8}}}},
                                       12, 5);
  return drawImage<3>(geometry, [&](const Vec<3>& p) {
    return sumOf(blobs, Vec<2>{p[0] + 2 * std::sin(p[2]), p[1] - 2 * std::cos(1.3 * p[2])});
  });
}

/// A series as both images of a level, with a stack of B-splines that moves each time on its own.
struct SeriesScene {
  std::shared_ptr<const Image<3>> series;
  std::unique_ptr<ReducedDimensionBSplineInterpolator<3>> interpolator;
  std::shared_ptr<TransformChain<3>> chain = std::make_shared<TransformChain<3>>();
  TermLevel<3> level;

  explicit SeriesScene(int order = 3, const Size<3>& size = {26, 22, 5})
      : series(std::make_shared<const Image<3>>(drawSeries(seriesGeometry(size))))
  {
    interpolator = std::make_unique<ReducedDimensionBSplineInterpolator<3>>(
        parametersOf("(BSplineInterpolationOrder " + std::to_string(order) + ")", 3, 1, "Interpolator0"));
    interpolator->prepareForLevel(host, series, 0);
    level.fixed = level.moving = series;
    level.interpolator = interpolator.get();
    level.chain = chain.get();
    use(std::make_shared<BSplineStackTransform<3>>(
            parametersOf("(FinalGridSpacingInPhysicalUnits 12)", 3, 1, "Transform0")),
        1.5);
  }

  void use(std::shared_ptr<OptimizableTransform<3>> transform, double amplitude)
  {
    chain->parameters = transform->initialize(host, {series, series, nullptr, nullptr, nullptr, nullptr});
    for (double& parameter : chain->parameters)
      parameter +=
          amplitude
          * checks::randomVector(1, static_cast<std::uint64_t>(&parameter - chain->parameters.data()))[0];
    chain->transform = transform;
  }

  /// Points between voxels in the inner part of the series, without an intensity of the fixed image.
  PointList<3> points(std::size_t count, double margin = 0.2) const
  {
    PointList<3> list;
    list.fixed.assign(count, 0);
    for (auto& axis : list.mm)
      axis.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      Vec<3> index;
      for (int d = 0; d < 3; ++d)
        index[d] = (margin + (1 - 2 * margin) * checks::randomVector(1, 3 * i + d, 0, 1)[0])
                   * (static_cast<double>(series->geometry.size[d]) - 1);
      const Vec<3> pointMm = series->geometry.pointFromIndex()(index);
      for (int d = 0; d < 3; ++d)
        list.mm[d][i] = pointMm[d];
    }
    return list;
  }
};

/// A metric with these parameters, prepared for the scene.
template <class Metric>
Metric metricOfSeries(const SeriesScene& scene, const std::string& text = "")
{
  Metric metric(parametersOf(text, 3, 1, "Metric0"));
  metric.prepareForLevel(host, scene.level);
  return metric;
}

/// The moving image at T(x_p, t) of each place (rows) at all times, NaN outside.
inline std::vector<std::vector<double>> valuesOverTime(const SeriesScene& scene, const PointList<3>& places)
{
  const ImageGeometry<3>& geometry = scene.series->geometry;
  std::vector<std::vector<double>> values(places.positions());
  for (std::size_t p = 0; p < values.size(); ++p)
    for (std::size_t t = 0; t < geometry.size[2]; ++t) {
      PointBatch<3> point;
      point.count = 1;
      point.set(0, {places.mm[0][p], places.mm[1][p],
                    geometry.originMm[2] + geometry.spacingMm[2] * static_cast<double>(t)});
      mapChain<3>(host, *scene.chain, point.list(), point.out());
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
