#include "Components/Transforms/Shared/StackTransform.h"

#include "Components/Transforms/AffineLogTransform.h"
#include "Components/Transforms/BSplineTransform.h"
#include "Components/Transforms/EulerTransform.h"
#include "Components/Transforms/Shared/TransformFileReading.h"
#include "Components/Transforms/TranslationTransform.h"
#include "Core/Registration/Interpolation/InterpolatorOnCuda.h"
#include "Core/Registration/Samples/TimeSlices.h"

#include <algorithm>
#include <limits>

namespace tessera {
namespace {

constexpr double notGiven = std::numeric_limits<double>::quiet_NaN();

const Parameter<double> stackSpacing =
    realParameter("StackSpacing", notGiven, Arity::single, "", "distance of the times").atLeast(aboveZero);
const Parameter<double> stackOrigin =
    realParameter("StackOrigin", notGiven, Arity::single, "", "the first time");
const Parameter<std::int64_t> numberOfSubTransforms =
    integerParameter("NumberOfSubTransforms", 1, 1, Arity::single, "", "number of times")
        .atMost(std::numeric_limits<std::int32_t>::max());

template <class T>
T required(const Parameters& file, const Parameter<T>& parameter)
{
  const std::optional<T> value = file.find(parameter);
  if (!value)
    file.fail(parameter.name, "not given", "Allowed: " + parameter.meaning);
  return *value;
}

/// Arrays of numbers of one slice's samples, one after the other.
double* scratchOf(std::size_t count)
{
  thread_local std::vector<double> scratch;
  if (scratch.size() < count)
    scratch.resize(count);
  return scratch.data();
}

}

template <int D, template <int> class Sub>
template <class Visit>
void StackTransform<D, Sub>::forEachTime(const ListSamples<D>& samples, Visit&& visit) const
{
  thread_local SlicedSamples<D> sorted;
  thread_local std::vector<std::size_t> timeOf;
  timeOf.resize(samples.count);
  for (std::size_t i = 0; i < samples.count; ++i)
    timeOf[i] = static_cast<std::size_t>(
        nearestTimeOf(static_cast<int>(count_), (samples.pointMm[D - 1][i] - origin_) / spacing_));
  sorted.sort(samples, timeOf, count_);
  sorted.forEachSlice(visit);
}

template <int D, template <int> class Sub>
std::vector<double> StackTransform<D, Sub>::initialize(Context& context, const TransformStart<D>& start)
{
  const ImageGeometry<D>& series = start.fixed->geometry;
  requireSeries<D>(series, "(Transform \"" + this->name() + "\"): the fixed image");
  count_ = series.size[D - 1];
  spacing_ = series.spacingMm[D - 1];
  origin_ = series.originMm[D - 1];
  const auto slice = std::make_shared<const Image<D - 1>>(Image<D - 1>{sliceGeometry<D>(series), {}});
  const std::vector<double> one =
      sub_.initialize(context, {slice, slice, nullptr, nullptr, nullptr, nullptr});
  std::vector<double> parameters;
  for (std::size_t time = 0; time < count_; ++time)
    parameters.insert(parameters.end(), one.begin(), one.end());
  return parameters;
}

template <int D, template <int> class Sub>
void StackTransform<D, Sub>::prepareForLevel(Context& context, std::size_t level,
                                             std::vector<double>& parameters)
{
  const Sub<D - 1> before = sub_;
  const std::size_t each = before.parameterCount();
  std::vector<double> all;
  for (std::size_t first = 0; first < parameters.size(); first += each) {
    std::vector<double> refined(parameters.begin() + static_cast<std::ptrdiff_t>(first),
                                parameters.begin() + static_cast<std::ptrdiff_t>(first + each));
    sub_ = before;
    sub_.prepareForLevel(context, level, refined);
    all.insert(all.end(), refined.begin(), refined.end());
  }
  parameters = std::move(all);
}

/// The scales of the last time that has samples, for all.
template <int D, template <int> class Sub>
std::vector<double> StackTransform<D, Sub>::scales(Context& context, const ListSamples<D>& samples,
                                                   std::span<const double> parameters) const
{
  std::size_t last = 0;
  ListSamples<D - 1> ofLast;
  forEachTime(samples, [&](const auto& slice) {
    last = slice.number;
    ofLast = slice.samples;
  });
  const std::vector<double> one = sub_.scales(context, ofLast, partOf(parameters, last));
  std::vector<double> all;
  for (std::size_t time = 0; time < count_; ++time)
    all.insert(all.end(), one.begin(), one.end());
  return all;
}

template <int D, template <int> class Sub>
void StackTransform<D, Sub>::map(Context& context, const ListSamples<D>& samples,
                                 std::span<const double> parameters, const PointsOut<D>& out) const
{
  forEachTime(samples, [&](const auto& slice) {
    const auto mapped = planesOf<D - 1>(scratchOf((D - 1) * slice.samples.count), slice.samples.count);
    sub_.map(context, slice.samples, partOf(parameters, slice.number), mapped);
    for (int d = 0; d + 1 < D; ++d)
      slice.scatter(mapped[d], out[d]);
  });
  if (out[D - 1] != samples.pointMm[D - 1])
    std::copy_n(samples.pointMm[D - 1], samples.count, out[D - 1]);
}

template <int D, template <int> class Sub>
void StackTransform<D, Sub>::pushForward(Context& context, const ListSamples<D>& samples,
                                         std::span<const double> parameters, std::span<const double> step,
                                         const PointsOut<D>& out) const
{
  forEachTime(samples, [&](const auto& slice) {
    const auto pushed = planesOf<D - 1>(scratchOf((D - 1) * slice.samples.count), slice.samples.count);
    sub_.pushForward(context, slice.samples, partOf(parameters, slice.number), partOf(step, slice.number),
                     pushed);
    for (int d = 0; d + 1 < D; ++d)
      slice.scatter(pushed[d], out[d]);
  });
  std::fill_n(out[D - 1], samples.count, 0.0);
}

template <int D, template <int> class Sub>
void StackTransform<D, Sub>::pullBack(Context& context, const ListSamples<D>& samples,
                                      std::span<const double> parameters, const Covectors<D>& covectors,
                                      std::span<double> gradient) const
{
  forEachTime(samples, [&](const auto& slice) {
    const auto gathered = planesOf<D - 1>(scratchOf((D - 1) * slice.samples.count), slice.samples.count);
    Covectors<D - 1> ofSlice;
    for (int d = 0; d + 1 < D; ++d) {
      slice.gather(covectors[d], gathered[d]);
      ofSlice[d] = gathered[d];
    }
    sub_.pullBack(context, slice.samples, partOf(parameters, slice.number), ofSlice,
                  partOf(gradient, slice.number));
  });
}

template <int D, template <int> class Sub>
JacobianTerms StackTransform<D, Sub>::jacobianTerms(Context& context, const ListSamples<D>& samples,
                                                    std::span<const double> parameters,
                                                    std::span<const double> scales) const
{
  JacobianTerms terms;
  forEachTime(samples, [&](const auto& slice) {
    const double share = static_cast<double>(slice.samples.count) / static_cast<double>(samples.count);
    const JacobianTerms one = sub_.jacobianTerms(context, slice.samples, partOf(parameters, slice.number),
                                                 partOf(scales, slice.number));
    terms.traceC += share * one.traceC;
    terms.frobeniusC2 += share * share * one.frobeniusC2;
    terms.maxJJ = std::max(terms.maxJJ, one.maxJJ);
    terms.maxJCJ = std::max(terms.maxJCJ, share * one.maxJCJ);
  });
  return terms;
}

template <int D, template <int> class Sub>
void StackTransform<D, Sub>::spatialDerivatives(Context& context, const ListSamples<D>& samples,
                                                std::span<const double> parameters, double* jacobian,
                                                double* hessian) const
{
  const std::size_t all = samples.count;
  std::fill_n(jacobian, D * D * all, 0.0);
  std::fill_n(jacobian + (D * D - 1) * all, all, 1.0);
  if (hessian)
    std::fill_n(hessian, D * symmetricCount(D) * all, 0.0);
  forEachTime(samples, [&](const auto& slice) {
    constexpr std::size_t first = (D - 1) * (D - 1), second = (D - 1) * symmetricCount(D - 1);
    const std::size_t n = slice.samples.count;
    double* const ofSlice = scratchOf((first + second) * n);
    sub_.spatialDerivatives(context, slice.samples, partOf(parameters, slice.number), ofSlice,
                            hessian ? ofSlice + first * n : nullptr);
    forEachJacobianEntry<D>(
        [&](std::size_t e, std::size_t s) { slice.scatter(ofSlice + s * n, jacobian + e * all); });
    if (hessian)
      forEachHessianEntry<D>(
          [&](std::size_t e, std::size_t s) { slice.scatter(ofSlice + (first + s) * n, hessian + e * all); });
  });
}

template <int D, template <int> class Sub>
void StackTransform<D, Sub>::pullBackSpatialDerivatives(Context& context, const ListSamples<D>& samples,
                                                        std::span<const double> parameters,
                                                        const double* covJacobian, const double* covHessian,
                                                        std::span<double> gradient) const
{
  const std::size_t all = samples.count;
  forEachTime(samples, [&](const auto& slice) {
    constexpr std::size_t first = (D - 1) * (D - 1), second = (D - 1) * symmetricCount(D - 1);
    const std::size_t n = slice.samples.count;
    double* const ofSlice = scratchOf((first + second) * n);
    if (covJacobian)
      forEachJacobianEntry<D>(
          [&](std::size_t e, std::size_t s) { slice.gather(covJacobian + e * all, ofSlice + s * n); });
    if (covHessian)
      forEachHessianEntry<D>([&](std::size_t e, std::size_t s) {
        slice.gather(covHessian + e * all, ofSlice + (first + s) * n);
      });
    sub_.pullBackSpatialDerivatives(
        context, slice.samples, partOf(parameters, slice.number), covJacobian ? ofSlice : nullptr,
        covHessian ? ofSlice + first * n : nullptr, partOf(gradient, slice.number));
  });
}

template <int D, template <int> class Sub>
std::vector<FileEntry> StackTransform<D, Sub>::fileEntries() const
{
  std::vector<FileEntry> entries = modelEntries();
  entries.push_back({stackSpacing.name, {}, {spacing_}});
  entries.push_back({stackOrigin.name, {}, {origin_}});
  entries.push_back({numberOfSubTransforms.name, {}, {static_cast<double>(count_)}});
  return entries;
}

template <int D, template <int> class Sub>
std::vector<double> StackTransform<D, Sub>::restore(const Context&, const Parameters& transformFile)
{
  restoreModel(transformFile);
  spacing_ = required(transformFile, stackSpacing);
  origin_ = required(transformFile, stackOrigin);
  count_ = static_cast<std::size_t>(required(transformFile, numberOfSubTransforms));
  return readTransformParameters(transformFile, parameterCount(),
                                 std::to_string(count_) + " sub-transforms of "
                                     + std::to_string(sub_.parameterCount()) + " parameters");
}

// Series are images of two or three dimensions over time.
template class StackTransform<3, AffineLogTransform>;
template class StackTransform<4, AffineLogTransform>;
template class StackTransform<3, BSplineTransform>;
template class StackTransform<4, BSplineTransform>;
template class StackTransform<3, EulerTransform>;
template class StackTransform<4, EulerTransform>;
template class StackTransform<3, TranslationTransform>;
template class StackTransform<4, TranslationTransform>;

}
