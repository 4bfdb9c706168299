#include "Components/Transforms/Shared/OnCuda/ParameterPullBack.h"

#include "Components/Transforms/Shared/OnCuda/SplineOnCuda.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr std::size_t samplesAtOnce = std::size_t(1) << 20; // 48 MiB in 3D

}

template <int D>
void ParameterPullBack<D>::add(Context& context, const SamplesOnCuda<D>& samples, const ChainOnCuda<D>& chain,
                               const std::array<const float*, D>& covectors, const float* factors,
                               std::span<double> gradient, const GradientUpdate& update)
{
  if (chain.links[chain.count - 1].kind == TransformKind::kernelSpline)
    return addSpline(context, samples, chain, covectors, factors, gradient, update);
  const bool fresh = fixedPoint_.size() < gradient.size();
  unsigned long long* fixedPoint = grown(context, fixedPoint_, gradient.size());
  if (fresh)
    context.stream->fill(fixedPoint, 0, fixedPoint_.span().size_bytes());
  pullBackBSplineOnCuda<D>(context, samples, chain, covectors, factors, fixedPoint,
                           grown(context, largest_, 1), gradient.data(), update);
}

template <int D>
double ParameterPullBack<D>::deviceBytes(TransformKind last, std::size_t parameters, std::size_t samples)
{
  if (samples == 0 || last == TransformKind::linear)
    return 0;
  if (last != TransformKind::kernelSpline)
    return static_cast<double>(parameters * sizeof(unsigned long long) + sizeof(unsigned));
  return static_cast<double>(sizeof(double) * 2 * D * std::min(samples, samplesAtOnce))
         + splineSumBytes<D>(parameters / D);
}

template <int D>
void ParameterPullBack<D>::addSpline(Context& context, const SamplesOnCuda<D>& samples,
                                     const ChainOnCuda<D>& chain,
                                     const std::array<const float*, D>& covectors, const float* factors,
                                     std::span<double> gradient, const GradientUpdate& update)
{
  const TransformOnCuda<D>& spline = chain.links[chain.count - 1];
  const std::size_t landmarks = gradient.size() / D, atOnce = std::min(samples.count, samplesAtOnce);
  double* points = grown(context, samples_, 2 * D * atOnce);
  double* scratch = grown(context, scratch_, splineScratch<D>(landmarks));
  double* sums = grown(context, sums_, (landmarks + D + 1) * D);
  std::size_t first = 0;
  do {
    const std::size_t count = std::min(atOnce, samples.count - first);
    double* values = points + D * count;
    covectorsOnCuda<D>(context, samples, first, count, chain, covectors, factors, points, values);
    sumSplineCovectorsOnCuda<D>(context, spline, count, points, values, scratch, sums, first == 0);
    first += count;
  } while (first < samples.count);
  splineGradientOnCuda<D>(context, spline, sums, gradient.data(), update);
}

template class ParameterPullBack<2>;
template class ParameterPullBack<3>;

}
