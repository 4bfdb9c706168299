#pragma once

#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Voxels/ImageOnCuda.h"
#include "Core/Registration/Interpolator.h"
#include "Core/Registration/Transform.h"
#include "Core/Registry/Registry.h"

#include <memory>
#include <string>

namespace tessera {

/// An interpolator without parameters of its own, prepared for an image on the context's device.
template <int D>
std::unique_ptr<Interpolator<D>> preparedInterpolator(Context context, const Registry& registry,
                                                      const std::string& name, const ImagePointer<D>& image)
{
  const Parameters none(std::make_shared<ParameterMap>(), "", D, 1);
  auto interpolator = registry.create<Interpolator<D>>(name, none, "the quality of a run");
  if (!context.onCuda())
    hostVoxels<D>(image);
  interpolator->prepareForLevel(context, image, 0);
  return interpolator;
}

/// A preparedInterpolator on the CPU.
template <int D>
std::unique_ptr<Interpolator<D>> hostInterpolator(const Registry& registry, const std::string& name,
                                                  const ImagePointer<D>& image, int threads = 1)
{
  return preparedInterpolator<D>({Device{}, threads}, registry, name, image);
}

/// Where a chain maps a batch of points; a null chain leaves them where they are.
template <int D>
PointBatch<D> mappedPoints(const TransformChain<D>* chain, const PointBatch<D>& points)
{
  PointBatch<D> result = points;
  Context host{Device{}, 1};
  if (chain)
    mapChain<D>(host, *chain, points.list(), result.out());
  return result;
}

/// Where a chain maps points, on the threads of a context; in mm.
template <int D>
std::vector<Vec<D>> mappedAll(const Context& context, const TransformChain<D>& chain,
                              const std::vector<Vec<D>>& pointsMm)
{
  std::vector<Vec<D>> result(pointsMm.size());
  forEachRange(context, pointsMm.size(), batchCapacity, [&](std::size_t first, std::size_t last) {
    PointBatch<D> points;
    points.count = last - first;
    for (std::size_t i = first; i < last; ++i)
      points.set(i - first, pointsMm[i]);
    Context ofRange = context;
    mapChain<D>(ofRange, chain, points.list(), points.out());
    for (std::size_t i = first; i < last; ++i)
      result[i] = points.point(i - first);
  });
  return result;
}

}
