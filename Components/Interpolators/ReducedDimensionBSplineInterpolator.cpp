#include "Components/Interpolators/ReducedDimensionBSplineInterpolator.h"

#include "Components/Interpolators/Shared/LinearBatch.h"
#include "Components/Interpolators/Shared/NearestVoxel.h"
#include "Core/Image/Filters/BSplinePrefilter.h"
#include "Core/Registration/Samples/TimeSlices.h"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

const Parameter<std::int64_t>& orderInSlices(InterpolatorUse use)
{
  static const auto matching = integerParameter("BSplineInterpolationOrder", 1, 0, Arity::perLevel, "",
                                                "order 0 to 5 in each slice; 0: nearest voxel, 1: linear")
                                   .atMost(5);
  static const auto resampling =
      integerParameter("FinalReducedDimensionBSplineInterpolationOrder", 3, 0, Arity::single, "",
                       "order 0 to 5 in each slice, for result images")
          .atMost(5);
  return use == InterpolatorUse::matching ? matching : resampling;
}

/// Values, gradients and insides of the samples of a slice.
template <int D>
struct Answers {
  std::vector<float> values;
  std::array<std::vector<float>, D - 1> gradients;
  std::vector<std::uint8_t> inside;

  void resize(std::size_t count)
  {
    values.resize(count);
    inside.resize(count);
    for (std::vector<float>& axis : gradients)
      axis.resize(count);
  }
};

}

template <int D>
const ComponentDescription& ReducedDimensionBSplineInterpolator<D>::description(InterpolatorUse use)
{
  const std::string name = "ReducedDimensionBSplineInterpolator",
                    summary =
                        "B-spline in the slice that is nearest in time, for series (the last axis is time)";
  static const ComponentDescription matching{
      "Interpolator", name, summary, {orderInSlices(InterpolatorUse::matching)}};
  static const ComponentDescription resampling{"ResampleInterpolator",
                                               name,
                                               summary,
                                               {orderInSlices(InterpolatorUse::resampling)},
                                               {"FinalReducedDimensionBSplineInterpolator"}};
  return use == InterpolatorUse::matching ? matching : resampling;
}

template <int D>
ReducedDimensionBSplineInterpolator<D>::ReducedDimensionBSplineInterpolator(const Parameters& parameters,
                                                                            InterpolatorUse use)
    : parameters_(parameters), use_(use), order_(ReducedDimensionBSplineInterpolator::order(0))
{
}

template <int D>
int ReducedDimensionBSplineInterpolator<D>::order(std::size_t level) const
{
  return static_cast<int>(
      parameters_.get(orderInSlices(use_), use_ == InterpolatorUse::matching ? level : 0));
}

template <int D>
void ReducedDimensionBSplineInterpolator<D>::requireGradients() const
{
  for (std::size_t level = 0; level < parameters_.levelCount(); ++level)
    if (order(level) == 0)
      parameters_.fail(orderInSlices(use_).name,
                       "at order 0 the interpolator has no gradient, and the optimizer needs one",
                       "Allowed: 1 to 5");
}

template <int D>
void ReducedDimensionBSplineInterpolator<D>::prepareForLevel(Context& context, const ImagePointer<D>& image,
                                                             std::size_t level)
{
  requireSeries<D>(image->geometry, description(use_).role + " \"" + description(use_).name + "\"");
  order_ = order(level);
  image_ = image;
  pointToIndex_ = image->geometry.pointToIndex();
  Image<D - 1> slice{sliceGeometry<D>(image->geometry), {}};
  const std::size_t voxels = slice.geometry.voxelCount();
  slices_.clear();
  slices_.resize(image->voxels.size() / voxels); // none where memory is only counted
  for (std::size_t t = 0; t < slices_.size(); ++t) {
    Slice& made = slices_[t];
    const float* const first = image->voxels.data() + t * voxels;
    made.spline = SplineImage<D - 1>(first, slice.geometry);
    if (order_ < 2)
      continue;
    slice.voxels.assign(first, first + voxels);
    if (use_ == InterpolatorUse::resampling) {
      made.fineCoefficients = bsplineCoefficientsInDouble<D - 1>(context, slice, order_);
      made.fineSpline = SplineImage<D - 1, double>(made.fineCoefficients.get(), slice.geometry);
    } else {
      made.coefficients = bsplineCoefficients<D - 1>(context, slice, order_);
      made.spline = SplineImage<D - 1>(made.coefficients.data(), slice.geometry);
    }
  }
  if (context.onCuda() && use_ == InterpolatorUse::matching)
    putOnCuda(context);
}

template <int D>
void ReducedDimensionBSplineInterpolator<D>::putOnCuda(const Context& context)
{
  const ImageGeometry<D - 1> slice = sliceGeometry<D>(image_->geometry);
  const std::size_t voxels = slice.voxelCount();
  coefficientsOnCuda_ = {};
  voxelsOnCuda_ = order_ > 1 ? nullptr : voxelsOnCuda<D>(context, image_);
  if (order_ > 1)
    coefficientsOnCuda_ = Buffer<float>(context, image_->geometry.voxelCount());
  for (std::size_t t = 0; t < slices_.size() && order_ > 1; ++t)
    context.stream->copyToDevice(coefficientsOnCuda_.span().data() + t * voxels,
                                 slices_[t].coefficients.data(), voxels * sizeof(float));
  const float* const first =
      order_ > 1 ? std::as_const(coefficientsOnCuda_).span().data() : voxelsOnCuda_->span().data();
  onCuda_ = {{first, slice, order_},
             order_,
             static_cast<long long>(voxels),
             static_cast<int>(image_->geometry.size[D - 1]),
             pointToIndex_};
}

template <int D>
void ReducedDimensionBSplineInterpolator<D>::evaluateSlice(const Slice& slice,
                                                           const ListSamples<D - 1>& points, float* values,
                                                           float* const* gradients,
                                                           std::uint8_t* inside) const
{
  const SplineImage<D - 1>& spline = slice.spline;
  if (order_ == 0)
    evaluateNearest<D - 1>({spline.coefficients, spline.size}, spline.pointToIndex, NearestRule::inFloat,
                           points, values, gradients, inside);
  else if (use_ == InterpolatorUse::matching)
    evaluateSpline<D - 1>(spline, order_, points, values, gradients, inside);
  else if (order_ == 1)
    LinearBatch<D - 1, double>::evaluate(spline, points, values, gradients, inside);
  else
    evaluateSpline<D - 1>(slice.fineSpline, order_, points, values, gradients, inside);
}

template <int D>
void ReducedDimensionBSplineInterpolator<D>::evaluate(Context&, const ListSamples<D>& points, float* values,
                                                      float* const* gradients, std::uint8_t* inside) const
{
  thread_local SlicedSamples<D> sorted;
  thread_local std::vector<std::size_t> sliceOf;
  thread_local Answers<D> answers;
  sliceOf.resize(points.count);
  for (std::size_t i = 0; i < points.count; ++i) {
    const double time = pointToIndex_.along(D - 1, points.at(i));
    const auto count = static_cast<int>(slices_.size());
    sliceOf[i] = static_cast<std::size_t>(isInTimes(count, time) ? nearestTimeOf(count, time) : count);
  }
  sorted.sort(points, sliceOf, slices_.size());
  std::fill_n(values, points.count, 0.0f);
  std::fill_n(inside, points.count, std::uint8_t(0));
  for (int d = 0; d < D && gradients; ++d)
    std::fill_n(gradients[d], points.count, 0.0f);
  sorted.forEachSlice([&](const typename SlicedSamples<D>::Slice& slice) {
    answers.resize(slice.samples.count);
    const auto gradientsOfSlice = pointersTo<D - 1>(answers.gradients);
    evaluateSlice(slices_[slice.number], slice.samples, answers.values.data(),
                  gradients ? gradientsOfSlice.data() : nullptr, answers.inside.data());
    slice.scatter(answers.values.data(), values);
    slice.scatter(answers.inside.data(), inside);
    for (int d = 0; d + 1 < D && gradients; ++d)
      slice.scatter(answers.gradients[d].data(), gradients[d]);
  });
}

// Series are images of two or three dimensions over time.
template class ReducedDimensionBSplineInterpolator<3>;
template class ReducedDimensionBSplineInterpolator<4>;

}
