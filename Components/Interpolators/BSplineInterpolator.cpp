#include "Components/Interpolators/BSplineInterpolator.h"

#include "Components/Interpolators/Shared/LinearBatch.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Image/Filters/BSplinePrefilter.h"
#include "Core/Image/Voxels/ImageOnCuda.h"

namespace tessera {
namespace {

Parameter<std::int64_t> orderRow(const std::string& name, std::int64_t defaultOrder, Arity arity,
                                 const std::string& meaning)
{
  return integerParameter(name, defaultOrder, 0, arity, "", meaning).atMost(5);
}

const Parameter<std::int64_t>& orderParameter(InterpolatorUse use)
{
  static const auto matching =
      orderRow("BSplineInterpolationOrder", 1, Arity::perLevel, "order 0 to 5; 0: nearest voxel, 1: linear");
  static const auto resampling =
      orderRow("FinalBSplineInterpolationOrder", 3, Arity::single, "order 0 to 5 for result images");
  return use == InterpolatorUse::matching ? matching : resampling;
}

}

template <int D>
BSplineInterpolator<D>::BSplineInterpolator(const Parameters& parameters, InterpolatorUse use)
    : parameters_(parameters), use_(use), order_(BSplineInterpolator::order(0))
{
  for (std::size_t level = 0; level < parameters.levelCount(); ++level)
    BSplineInterpolator::order(level);
}

template <int D>
int BSplineInterpolator<D>::order(std::size_t level) const
{
  const Parameter<std::int64_t>& parameter = orderParameter(use_);
  const std::int64_t order = parameters_.get(parameter, use_ == InterpolatorUse::matching ? level : 0);
  if (order < 0 || order > 5)
    parameters_.fail(parameter.name, "no such spline order: " + std::to_string(order), "Allowed: 0 to 5");
  return static_cast<int>(order);
}

template <int D>
void BSplineInterpolator<D>::requireGradients() const
{
  for (std::size_t level = 0; level < parameters_.levelCount(); ++level)
    if (order(level) == 0)
      parameters_.fail(orderParameter(use_).name,
                       "at order 0 the interpolator has no gradient, and the optimizer needs one",
                       "Allowed: 1 to 5, or (Interpolator \"NearestNeighborInterpolator\")");
}

template <int D>
void BSplineInterpolator<D>::prepareForLevel(Context& context, const ImagePointer<D>& image,
                                             std::size_t level)
{
  order_ = order(level);
  image_ = image;
  readInPlace(image->voxels.data(), image->geometry);
  coefficients_ = {};
  fineCoefficients_ = {};
  onCuda_ = {nullptr, geometry_, order_};
  if (use_ == InterpolatorUse::resampling && context.onCuda())
    return resampleOnCuda(context);
  if (order_ > 1 && use_ == InterpolatorUse::resampling) {
    fineCoefficients_ = bsplineCoefficientsInDouble<D>(context, *image, order_);
    fineSpline_ = SplineImage<D, double>(fineCoefficients_.get(), image->geometry);
    return;
  }
  if (order_ > 1)
    hostVoxels<D>(image);
  if (order_ > 1 && !onlyCountsMemory(context))
    coefficients_ = bsplineCoefficients<D>(context, *image, order_);
  if (context.onCuda())
    putOnCuda(context);
  if (order_ > 1)
    spline_ = SplineImage<D>(coefficients_.data(), geometry_);
}

/// Resamples with coefficients that are computed on the device, so that the host needs none.
template <int D>
void BSplineInterpolator<D>::resampleOnCuda(Context& context)
{
  coefficientsOnCuda_ = {};
  voxelsOnCuda_ = voxelsOnCuda<D>(context, image_);
  const float* coefficients = voxelsOnCuda_->span().data();
  if constexpr (D < 4) {
    if (order_ > 1) {
      coefficientsOnCuda_ = bsplineCoefficientsOnCuda<D>(context, coefficients, geometry_.size, order_);
      voxelsOnCuda_.reset();
      coefficients = coefficientsOnCuda_.span().data();
    }
  }
  onCuda_ = {coefficients, geometry_, order_};
}

template <int D>
void BSplineInterpolator<D>::putOnCuda(const Context& context)
{
  coefficientsOnCuda_ = {};
  voxelsOnCuda_ = order_ > 1 ? nullptr : voxelsOnCuda<D>(context, image_);
  if (order_ > 1)
    coefficientsOnCuda_ = Buffer<float>(context, geometry_.voxelCount());
  if (!coefficients_.empty())
    coefficientsOnCuda_.fromHost(context, coefficients_);
  onCuda_ = {order_ > 1 ? coefficientsOnCuda_.span().data() : voxelsOnCuda_->span().data(), geometry_,
             order_};
}

template <int D>
void BSplineInterpolator<D>::evaluate(Context&, const ListSamples<D>& points, float* values,
                                      float* const* gradients, std::uint8_t* inside) const
{
  if (order_ == 0)
    evaluateNearest<D>(voxels_, pointToIndex_, NearestRule::inFloat, points, values, gradients, inside);
  else if (use_ == InterpolatorUse::matching)
    evaluateSpline<D>(spline_, order_, points, values, gradients, inside);
  else if (order_ == 1)
    LinearBatch<D, double>::evaluate(spline_, points, values, gradients, inside);
  else
    evaluateSpline<D>(fineSpline_, order_, points, values, gradients, inside);
}

template <int D>
bool BSplineInterpolator<D>::evaluateRow(const IndexRow<D>& row, float* values, RowSpan& inside) const
{
  if (use_ != InterpolatorUse::resampling)
    return false;
  if (order_ == 0)
    return evaluateNearestRow<D>(voxels_, NearestRule::inFloat, row, values, inside);
  if (order_ == 1)
    return LinearBatch<D, double>::evaluateRow(spline_, row, values, inside);
  return evaluateSplineRow<D>(fineSpline_, order_, row, values, inside);
}

template <int D>
const ComponentDescription& BSplineInterpolator<D>::description(InterpolatorUse use)
{
  static const ComponentDescription matching{
      "Interpolator",
      "BSplineInterpolator",
      "B-spline through the voxels, mirrored at the border (Unser 1999).",
      {orderParameter(InterpolatorUse::matching)},
      {"BSplineInterpolatorFloat"}};
  static const ComponentDescription resampling{
      "ResampleInterpolator",
      "BSplineInterpolator",
      "B-spline through the voxels, mirrored at the border (Unser 1999).",
      {orderParameter(InterpolatorUse::resampling)},
      {"FinalBSplineInterpolator", "FinalBSplineInterpolatorFloat"}};
  return use == InterpolatorUse::matching ? matching : resampling;
}

TESSERA_INSTANTIATE_CLASS_TO_4(BSplineInterpolator);

}
