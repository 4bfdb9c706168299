#include "Components/Interpolators/LinearInterpolator.h"

#include "Components/Interpolators/Shared/LinearBatch.h"

namespace tessera {

template <int D>
void LinearInterpolator<D>::prepareForLevel(Context& context, const ImagePointer<D>& image, std::size_t)
{
  image_ = image;
  readInPlace(image->voxels.data(), image->geometry);
  voxelsOnCuda_ = context.onCuda() ? voxelsOnCuda<D>(context, image) : nullptr;
  onCuda_ = {voxelsOnCuda_ ? voxelsOnCuda_->span().data() : nullptr, image->geometry, 1};
  onCuda_.lastVoxelClosesCell = true;
  onCuda_.repeatsBorder = use_ == InterpolatorUse::resampling;
}

template <int D>
void LinearInterpolator<D>::evaluate(Context&, const ListSamples<D>& points, float* values,
                                     float* const* gradients, std::uint8_t* inside) const
{
  if (use_ == InterpolatorUse::matching)
    LinearBatch<D, float>::evaluate(spline_, points, values, gradients, inside);
  else
    LinearBatch<D, double>::evaluate(spline_, points, values, gradients, inside);
}

template <int D>
bool LinearInterpolator<D>::evaluateRow(const IndexRow<D>& row, float* values, RowSpan& inside) const
{
  return use_ == InterpolatorUse::resampling
         && LinearBatch<D, double>::evaluateRow(spline_, row, values, inside);
}

template <int D>
const ComponentDescription& LinearInterpolator<D>::description(InterpolatorUse use)
{
  static const ComponentDescription matching{"Interpolator", "LinearInterpolator",
                                             "Linear between neighbouring voxels, mirrored at the border."};
  static const ComponentDescription resampling{
      "ResampleInterpolator",
      "LinearInterpolator",
      "Linear between neighbouring voxels, constant beyond the border.",
      {},
      {"FinalLinearInterpolator"}};
  return use == InterpolatorUse::matching ? matching : resampling;
}

TESSERA_INSTANTIATE_CLASS_TO_4(LinearInterpolator);

}
