#include "Core/Runs/Resampling/ImageAtPoints.h"

#include "Core/Compute/Memory/Buffer.h"
#include "Core/Registration/Interpolation/InterpolatePointsOnCuda.h"
#include "Core/Runs/Resampling/HostInterpolator.h"

#include <utility>

namespace tessera {

template <int D>
ImageAtPoints<D>::ImageAtPoints(const Context& context, const Registry& registry,
                                const std::string& interpolator, const ImagePointer<D>& image)
    : context_(D < 4 && ownVoxelsOnCuda<D>(context.device, image) ? context : context.onCpu()),
      interpolator_(preparedInterpolator<D>(context_, registry, interpolator, image))
{
}

template <int D>
ValuesAtPoints ImageAtPoints<D>::at(const std::vector<Vec<D>>& pointsMm) const
{
  const std::size_t count = pointsMm.size();
  if constexpr (D < 4)
    if (onCuda() && count > 0) {
      std::vector<double> planes(D * count);
      for (std::size_t i = 0; i < count; ++i)
        for (int d = 0; d < D; ++d)
          planes[d * count + i] = pointsMm[i][d];
      Context context = context_;
      Buffer<double> mm;
      mm.fromHost(context, planes);
      Buffer<float> values(context, count);
      Buffer<std::uint8_t> inside(context, count);
      interpolateOnCuda<D>(context, *interpolator_->onCuda(),
                           planesOf<D>(std::as_const(mm).span().data(), count), count, values.span().data(),
                           {}, inside.span().data());
      return {values.toHost(context), inside.toHost(context)};
    }
  ValuesAtPoints found{std::vector<float>(count), std::vector<std::uint8_t>(count)};
  forEachRange(context_, count, batchCapacity, [&](std::size_t first, std::size_t last) {
    PointBatch<D> points;
    points.count = last - first;
    for (std::size_t i = first; i < last; ++i)
      points.set(i - first, pointsMm[i]);
    Context host{Device{}, 1};
    interpolator_->evaluate(host, points.list(), found.values.data() + first, nullptr,
                            found.inside.data() + first);
  });
  return found;
}

TESSERA_INSTANTIATE_CLASS_TO_4(ImageAtPoints);

}
