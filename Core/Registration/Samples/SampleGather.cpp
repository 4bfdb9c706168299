#include "Core/Registration/Samples/SampleGather.h"

namespace tessera {
namespace {

/// The arrays of one thread for one batch.
template <int D>
struct Scratch {
  PointBatch<D> points, mapped;
  std::vector<float> fixed = std::vector<float>(batchCapacity), moving = fixed;
  std::array<std::vector<float>, D> gradient;
  std::vector<std::uint8_t> inside = std::vector<std::uint8_t>(batchCapacity);

  Scratch() { gradient.fill(fixed); }
};

/// Maps a batch. `points` holds x on entry, and on return the points at which the last transform is
/// evaluated; `mapped` receives T(x).
template <int D>
void mapBatch(Context& context, const TransformChain<D>& chain, PointBatch<D>& points, PointBatch<D>& mapped)
{
  mapped.count = points.count;
  if (chain.initial && chain.combination == Combination::add) {
    mapChain<D>(context, chain, points.list(), mapped.out());
    return;
  }
  if (chain.initial)
    mapInitial<D>(context, chain, points.list(), points.out());
  chain.transform->map(context, points.list(), chain.parameters, mapped.out());
}

template <int D>
void keepInMask(const Mask<D>& mask, Scratch<D>& s)
{
  std::size_t kept = 0;
  for (std::size_t i = 0; i < s.mapped.count; ++i) {
    const Vec<D> pointMm = s.mapped.point(i);
    s.mapped.set(kept, pointMm);
    s.points.set(kept, s.points.point(i));
    s.fixed[kept] = s.fixed[i];
    kept += mask.contains(pointMm);
  }
  s.points.count = s.mapped.count = kept;
}

/// Copies the samples that count to the front of `out`. It has no branch: a sample that does not count is
/// overwritten by the next one.
template <int D>
std::size_t copyValid(const Scratch<D>& s, const ValidSamples<D>& out)
{
  const bool withGradient = out.gradientPerMm[0] != nullptr;
  std::size_t valid = 0;
  for (std::size_t i = 0; i < s.points.count; ++i) {
    for (int d = 0; d < D; ++d)
      out.pointMm[d][valid] = s.points.mm[d][i];
    out.fixed[valid] = s.fixed[i];
    out.moving[valid] = s.moving[i];
    if (withGradient)
      for (int d = 0; d < D; ++d)
        out.gradientPerMm[d][valid] = s.gradient[d][i];
    const bool isNumber = s.fixed[i] == s.fixed[i] && s.moving[i] == s.moving[i];
    valid += s.inside[i] != 0 && isNumber;
  }
  return valid;
}

}

template <int D>
void multiplyGradients(const Matrix<D>& matrix, const std::array<float*, D>& gradient, std::size_t first,
                       std::size_t last)
{
  for (std::size_t i = first; i < last; ++i) {
    Vec<D> g;
    for (int d = 0; d < D; ++d)
      g[d] = gradient[d][i];
    g = apply<D>(matrix, g);
    for (int d = 0; d < D; ++d)
      gradient[d][i] = static_cast<float>(g[d]);
  }
}

template <int D>
void ValidSampleArrays<D>::grow(std::size_t capacity)
{
  if (fixed.size() >= capacity)
    return;
  fixed.resize(capacity);
  moving.resize(capacity);
  for (int d = 0; d < D; ++d) {
    pointMm[d].resize(capacity);
    gradientPerMm[d].resize(capacity);
  }
}

template <int D>
ValidSamples<D> ValidSampleArrays<D>::at(std::size_t offset, bool withGradient)
{
  ValidSamples<D> samples{.pointMm = pointersTo<D>(pointMm, offset),
                          .fixed = fixed.data() + offset,
                          .moving = moving.data() + offset};
  if (withGradient)
    samples.gradientPerMm = pointersTo<D>(gradientPerMm, offset);
  return samples;
}

template <int D>
SampleCount SampleGather<D>::gather(const SampleSet<D>& set, std::size_t first, std::size_t last,
                                    const TransformChain<D>& chain, const ValidSamples<D>& out) const
{
  thread_local Scratch<D> s;
  Context oneThread;
  fillBatch<D>(set, first, last, s.points, s.fixed.data());
  const std::size_t asked = s.points.count;
  mapBatch<D>(oneThread, chain, s.points, s.mapped);
  if (movingMask_)
    keepInMask<D>(*movingMask_, s);

  const std::array<float*, D> gradient = pointersTo<D>(s.gradient);
  const bool withGradient = out.gradientPerMm[0] != nullptr;
  interpolator_->evaluate(oneThread, s.mapped.list(), s.moving.data(),
                          withGradient ? gradient.data() : nullptr, s.inside.data());
  const std::size_t valid = copyValid<D>(s, out);
  if (withGradient && gradientMatrix_)
    multiplyGradients<D>(*gradientMatrix_, out.gradientPerMm, 0, valid);
  return {asked, valid};
}

TESSERA_INSTANTIATE_CLASS(ValidSampleArrays);
TESSERA_INSTANTIATE_CLASS(SampleGather);
TESSERA_INSTANTIATE_FUNCTIONS_TO_4(multiplyGradients<D>);

}
