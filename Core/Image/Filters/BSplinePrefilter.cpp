#include "Core/Image/Filters/BSplinePrefilter.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/LargeArrays.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Image/Filters/LineBlocks.h"
#include "Core/Image/Filters/LineFilterOnCuda.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

namespace tessera {
namespace {

/// Poles of the direct filter (Unser et al. 1993, table I).
std::vector<double> polesOf(int order)
{
  switch (order) {
  case 0:
  case 1:
    return {};
  case 2:
    return {std::sqrt(8.0) - 3};
  case 3:
    return {std::sqrt(3.0) - 2};
  case 4:
    return {std::sqrt(664 - std::sqrt(438976.0)) + std::sqrt(304.0) - 19,
            std::sqrt(664 + std::sqrt(438976.0)) - std::sqrt(304.0) - 19};
  case 5:
    return {std::sqrt(67.5 - std::sqrt(4436.25)) + std::sqrt(26.25) - 6.5,
            std::sqrt(67.5 + std::sqrt(4436.25)) - std::sqrt(26.25) - 6.5};
  default:
    throw Error(ExitCode::usage,
                "B-spline prefilter: order " + std::to_string(order) + ": not supported. Allowed: 0 to 5.");
  }
}

/// The recursion of one pole z over a line s of one length (Unser, Aldroubi, Eden 1993; start values for
/// mirrored ends after Unser, "Splines: a perfect fit for signal and image processing", 1999, box 2):
///
///   c+[0] = sum over k of startWeights[k] s[k]
///   c+[k] = s[k] + z c+[k - 1]                          k = 1 .. n - 1
///   c[n - 1] = z / (z^2 - 1) (c+[n - 1] + z c+[n - 2])
///   c[k] = z (c[k + 1] - c+[k])                         k = n - 2 .. 0
///
/// Poles follow one after the other. The line is first multiplied by their gain, the product of (1 - z) (1 -
/// 1/z).
struct PoleFilter {
  double pole = 0;
  std::vector<double> startWeights; // first causal value = sum of weights times the line
  double endFactor = 0;

  PoleFilter(double z, std::size_t length) : pole(z), endFactor(z / (z * z - 1))
  {
    const double tolerance = 1e-10; // that of itk::BSplineDecompositionImageFilter in elastix
    const auto horizon = static_cast<std::size_t>(std::ceil(std::log(tolerance) / std::log(std::abs(z))));
    if (horizon < length) {
      for (std::size_t k = 0; k < horizon; ++k)
        startWeights.push_back(std::pow(z, static_cast<double>(k)));
      return;
    }
    // The whole mirrored period 2 (length - 1), summed in closed form.
    const double period = 2 * (static_cast<double>(length) - 1), sum = 1 / (1 - std::pow(z, period));
    for (std::size_t k = 0; k < length; ++k) {
      const double there = std::pow(z, static_cast<double>(k)),
                   back = std::pow(z, period - static_cast<double>(k));
      startWeights.push_back(sum * (k == 0 || k + 1 == length ? there : there + back));
    }
  }
};

/// Filters a volume along one axis: reads values of type In, computes in double, writes values of type Out.
template <class In, class Out>
class PrefilterLines {
public:
  PrefilterLines(int order, std::size_t length)
  {
    for (const double pole : polesOf(order)) {
      poles_.emplace_back(pole, length);
      gain_ *= (1 - pole) * (1 - 1 / pole);
    }
  }

  TESSERA_MULTIVERSION void run(const LinePlan& plan, std::size_t firstBlock, std::size_t lastBlock,
                                const In* in, Out* out) const
  {
    thread_local std::vector<In> read;
    thread_local std::vector<double> scratch;
    thread_local std::vector<Out> written;
    read.resize(plan.length() * lineLanes);
    scratch.resize(plan.length() * lineLanes);
    written.resize(plan.length() * lineLanes);
    for (std::size_t index = firstBlock; index < lastBlock; ++index) {
      const LineBlock block = plan.block(index);
      gatherLines(in, block, read.data());
      for (std::size_t i = 0; i < read.size(); ++i)
        scratch[i] = gain_ * static_cast<double>(read[i]);
      for (const PoleFilter& pole : poles_)
        applyPole(pole, block.length, scratch.data());
      for (std::size_t i = 0; i < written.size(); ++i)
        written[i] = static_cast<Out>(scratch[i]);
      scatterLines(written.data(), block, out);
    }
  }

private:
  static constexpr std::size_t vectors = lineLanes / 4;

  static TESSERA_ALWAYS_INLINE void applyPole(const PoleFilter& filter, std::size_t length, double* lanes)
  {
    const double z = filter.pole;
    Double4 value[vectors] = {};
    for (std::size_t k = 0; k < filter.startWeights.size(); ++k)
      for (std::size_t v = 0; v < vectors; ++v)
        value[v] += filter.startWeights[k] * loadVector<Double4>(lanes + k * lineLanes + 4 * v);
    for (std::size_t v = 0; v < vectors; ++v)
      storeVector(lanes + 4 * v, value[v]);
    for (std::size_t k = 1; k < length; ++k)
      for (std::size_t v = 0; v < vectors; ++v) {
        double* at = lanes + k * lineLanes + 4 * v;
        value[v] = loadVector<Double4>(at) + z * value[v];
        storeVector(at, value[v]);
      }
    double* const last = lanes + (length - 1) * lineLanes;
    for (std::size_t v = 0; v < vectors; ++v) {
      value[v] = filter.endFactor * (z * loadVector<Double4>(last - lineLanes + 4 * v) + value[v]);
      storeVector(last + 4 * v, value[v]);
    }
    for (std::size_t k = length - 1; k-- > 0;)
      for (std::size_t v = 0; v < vectors; ++v) {
        double* at = lanes + k * lineLanes + 4 * v;
        value[v] = z * (value[v] - loadVector<Double4>(at));
        storeVector(at, value[v]);
      }
  }

  std::vector<PoleFilter> poles_;
  double gain_ = 1;
};

template class PrefilterLines<float, float>;
template class PrefilterLines<float, double>;
template class PrefilterLines<double, double>;

template <class In, class Out, int D>
void prefilter(const Context& context, const In* in, Out* out, const Size<D>& size, int order)
{
  const auto alongAxis = [&](int axis, const auto* from) {
    const PrefilterLines<std::remove_cvref_t<decltype(*from)>, Out> lines(order, size[axis]);
    forEachLineBlock(context, size, axis, [&](const LinePlan& plan, std::size_t first, std::size_t last) {
      lines.run(plan, first, last, from, out);
    });
  };
  bool isFirst = true;
  for (int axis = 0; axis < D; ++axis) {
    if (size[axis] < 2)
      continue;
    if (isFirst)
      alongAxis(axis, in);
    else
      alongAxis(axis, static_cast<const Out*>(out));
    isFirst = false;
  }
  if (isFirst)
    *out = static_cast<Out>(*in); // no axis was filtered: each has one voxel
}

template <int D>
void requireCoefficientMemory(const Image<D>& image, std::size_t bytesACoefficient)
{
  requireMemory(static_cast<double>(image.voxels.size() * bytesACoefficient),
                "B-spline interpolation of " + extentText(image.geometry.size) + " voxels",
                "a smaller image, or an interpolator of order 1");
}

}

template <int D>
std::vector<float> bsplineCoefficients(Context& context, const Image<D>& image, int order)
{
  requireCoefficientMemory(image, sizeof(float));
  std::vector<float> coefficients = largeVector<float>(context, image.voxels.size() + coefficientPadding);
  if (polesOf(order).empty())
    std::copy(image.voxels.begin(), image.voxels.end(), coefficients.begin());
  else
    prefilter<float, float, D>(context, image.voxels.data(), coefficients.data(), image.geometry.size, order);
  return coefficients;
}

template <int D>
std::unique_ptr<double[]> bsplineCoefficientsInDouble(Context& context, const Image<D>& image, int order)
{
  requireCoefficientMemory(image, sizeof(double));
  const std::size_t count = image.voxels.size();
  // The threads that filter the first axis touch its pages first.
  auto coefficients = largeArray<double>(count + coefficientPadding);
  std::fill_n(coefficients.get() + count, coefficientPadding, 0.0);
  if (polesOf(order).empty())
    std::copy(image.voxels.begin(), image.voxels.end(), coefficients.get());
  else
    prefilter<float, double, D>(context, image.voxels.data(), coefficients.get(), image.geometry.size, order);
  return coefficients;
}

template <int D>
void bsplineDecompose(const Context& context, std::vector<double>& values, const Size<D>& size, int order)
{
  if (!polesOf(order).empty())
    prefilter<double, double, D>(context, values.data(), values.data(), size, order);
}

ExponentialFilter splineFilter(int order)
{
  const std::vector<double> poles = polesOf(order);
  double gain = 1;
  for (const double pole : poles)
    gain *= (1 - pole) * (1 - pole);
  ExponentialFilter filter;
  for (const double pole : poles) { // partial fractions of gain / product of (1 - p z)(1 - p / z)
    double amplitude = gain / (1 - pole * pole);
    for (const double other : poles)
      if (other != pole)
        amplitude /= (1 - other * pole) * (1 - other / pole);
    filter.push_back({amplitude, pole});
  }
  return filter;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(bsplineCoefficients<D>, bsplineCoefficientsInDouble<D>,
                                   bsplineDecompose<D>);

namespace {

constexpr std::size_t surelyOneBlock = 512; // voxels of a line that one block filters on any device

}

template <int D>
Buffer<float> bsplineCoefficientsOnCuda(Context& context, const float* voxels, const Size<D>& size, int order)
{
  const ExponentialFilter filter = splineFilter(order);
  const std::size_t count = productOf(size);
  Buffer<float> coefficients(context, count);
  float* const out = coefficients.span().data();
  const float* from = voxels;
  for (int axis = 0; axis < D; ++axis) {
    if (size[axis] < 2 || filter.empty())
      continue;
    if (!onlyCountsMemory(context))
      filterLinesOnCuda(context, filter, LineEnds::mirrored, LinesOnCuda::along(size, axis), from, out);
    else if (from == out && size[axis] > surelyOneBlock) // a copy, as blocks read what their neighbours write
      const Buffer<float> before(context, count);
    from = out;
  }
  if (from == voxels)
    context.stream->copyOnDevice(out, voxels, count * sizeof(float));
  return coefficients;
}

TESSERA_INSTANTIATE_FUNCTIONS(bsplineCoefficientsOnCuda<D>);

}
