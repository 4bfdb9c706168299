#include "Components/Transforms/Shared/OnCuda/ParameterPullBack.h"

#include "Components/Transforms/Shared/OnCuda/SplineOnCuda.h"

#include <algorithm>

namespace tessera {

template <int D>
void ParameterPullBack<D>::reserve(const Context& context, TransformKind last, std::size_t parameters,
                                   std::size_t samples)
{
  if (last == TransformKind::kernelSpline) {
    grown(context, samples_, 2 * D * std::min(samples, covectorsAtOnce));
    grown(context, scratch_, splineScratch<D>(parameters / D));
    grown(context, sums_, (parameters / D + D + 1) * D);
  } else if (last != TransformKind::linear && fixedPoint_.size() < parameters) {
    grown(context, largest_, 1);
    grown(context, fixedPoint_, parameters);
    context.stream->fill(fixedPoint_.span().data(), 0, fixedPoint_.span().size_bytes());
  }
}

template <int D>
void ParameterPullBack<D>::addSpline(Context& context, const SamplesOnCuda<D>& samples,
                                     const ChainOnCuda<D>& chain,
                                     const std::array<const float*, D>& covectors, const float* factors,
                                     std::span<double> gradient, const GradientUpdate& update)
{
  const TransformOnCuda<D>& spline = chain.links[chain.count - 1];
  const std::size_t atOnce = std::min(samples.count, covectorsAtOnce);
  double *points = samples_.span().data(), *scratch = scratch_.span().data(), *sums = sums_.span().data();
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

TESSERA_INSTANTIATE_CLASS(ParameterPullBack);

}
