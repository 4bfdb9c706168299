#include "Components/Metrics/AdvancedKappaStatistic.h"

#include "Components/Metrics/Shared/MovingSamples.h"

#include <algorithm>
#include <atomic>
#include <cmath>

namespace tessera {
namespace {

constexpr double tolerance = 1e-3; // elastix's, of intensities

const Parameter<bool>& useForegroundValue()
{
  static const auto p =
      booleanParameter("UseForegroundValue", true, Arity::perLevel,
                       "foreground is ForegroundValue; \"false\": every intensity above 0.001");
  return p;
}

const Parameter<double>& foregroundValue()
{
  static const auto p = realParameter("ForegroundValue", 1, Arity::perLevel, "intensity",
                                      "intensity of the foreground, to 0.001");
  return p;
}

const Parameter<bool>& useComplement()
{
  static const auto p = booleanParameter("UseComplement", true, Arity::perLevel,
                                         "1 minus the overlap, which optimizers make small; \"false\": the "
                                         "overlap");
  return p;
}

}

template <int D>
AdvancedKappaStatistic<D>::AdvancedKappaStatistic(const Parameters& parameters)
    : parameters_(parameters), validSampleRule_(parameters)
{
}

template <int D>
const ComponentDescription& AdvancedKappaStatistic<D>::description()
{
  static const ComponentDescription description{
      "Metric",
      "AdvancedKappaStatistic",
      {},
      "1 minus the overlap of two foregrounds, counted in samples as elastix does; SoftDice has a derivative",
      [] {
        std::vector<ParameterInfo> rows = ValidSampleRule::parameters();
        rows.push_back(useForegroundValue());
        rows.push_back(foregroundValue());
        rows.push_back(useComplement());
        return rows;
      }()};
  return description;
}

template <int D>
TermTime AdvancedKappaStatistic<D>::timeOf(const TermSize& size) const
{
  const double cpu = D == 2 ? (size.isLattice ? 45 : 72) : (size.isLattice ? 65 : 115);
  return {.points = size.samples, .cpuNanoseconds = cpu * size.samples};
}

template <int D>
void AdvancedKappaStatistic<D>::prepareForLevel(Context&, const TermLevel<D>& level)
{
  level_ = level;
  usesForegroundValue_ = parameters_.get(useForegroundValue(), level.level);
  foregroundValue_ = parameters_.get(foregroundValue(), level.level);
  isComplement_ = parameters_.get(useComplement(), level.level);
}

template <int D>
bool AdvancedKappaStatistic<D>::isForeground(float intensity) const
{
  return usesForegroundValue_ ? std::abs(intensity - foregroundValue_) < tolerance : intensity > tolerance;
}

/// The difference of foregrounds beside a voxel of the moving image; 0 at the border.
template <int D>
double AdvancedKappaStatistic<D>::edgeAlong(int axis, const Size<D>& voxel) const
{
  const Size<D>& size = level_.moving->geometry.size;
  if (voxel[axis] == 0 || voxel[axis] + 1 >= size[axis])
    return 0;
  std::size_t offset = 0, stride = 1, ofAxis = 1;
  for (int d = 0; d < D; ++d) {
    offset += stride * voxel[d];
    ofAxis = d == axis ? stride : ofAxis;
    stride *= size[d];
  }
  const std::vector<float>& voxels = level_.moving->voxels;
  return static_cast<double>(isForeground(voxels[offset + ofAxis]))
         - static_cast<double>(isForeground(voxels[offset - ofAxis]));
}

template <int D>
TermValue AdvancedKappaStatistic<D>::evaluateHere(Context& context, const SampleSet<D>& samples,
                                                  std::span<const double> parameters,
                                                  std::span<double> gradient)
{
  using ImageSum = typename MeanOverSamples<D>::ImageSum;
  using ImageBatchSum = typename MeanOverSamples<D>::ImageBatchSum;
  const TransformChain<D>& chain = chain_(*level_.chain, parameters);
  const auto evaluate = [&](std::span<double> into, const ImageBatchSum& batchSum) {
    return mean_.evaluate(context, samples, chain, level_.movingMask.get(), into, batchSum);
  };

  std::atomic<std::size_t> inFixed = 0, inMoving = 0, inBoth = 0;
  TermValue result = evaluate({}, [&](Context& oneThread, const TransformChain<D>& ofChain,
                                      const ListSamples<D>& points, const float* fixed, std::span<double>) {
    thread_local MovingSamples<D> s;
    s.gather(oneThread, ofChain, *level_.interpolator, points, fixed, false);
    std::size_t ofFixed = 0, ofMoving = 0, ofBoth = 0;
    for (std::size_t i = 0; i < s.points.count; ++i) {
      const bool isFixed = isForeground(s.fixed[i]), isMoving = isForeground(s.moving[i]);
      ofFixed += isFixed;
      ofMoving += isMoving;
      ofBoth += isFixed && isMoving;
    }
    inFixed += ofFixed;
    inMoving += ofMoving;
    inBoth += ofBoth;
    return ImageSum{0, s.points.count};
  });
  validSampleRule_.check(level_.level, result.valid, result.asked);

  const double sum = static_cast<double>(inFixed + inMoving), sign = isComplement_ ? 1 : -1;
  const double overlap = sum > 0 ? 2 * static_cast<double>(inBoth) / sum : 0;
  result.value = sum == 0 ? 0 : isComplement_ ? 1 - overlap : overlap;
  if (gradient.empty())
    return result;
  // The mean over samples is taken of these.
  const double all = sum > 0 ? sign * static_cast<double>(result.valid) * overlap / sum : 0,
               ofForeground = sum > 0 ? -2 * sign * static_cast<double>(result.valid) / sum : 0;
  const PointToIndex<D> pointToIndex = level_.moving->geometry.pointToIndex();
  evaluate(gradient, [&](Context& oneThread, const TransformChain<D>& ofChain, const ListSamples<D>& points,
                         const float* fixed, std::span<double> ofBatch) {
    thread_local MovingSamples<D> s;
    thread_local PointBatch<D> covectors;
    s.gather(oneThread, ofChain, *level_.interpolator, points, fixed, false);
    for (std::size_t i = 0; i < s.points.count; ++i) {
      const double weight = all + (isForeground(s.fixed[i]) ? ofForeground : 0);
      const Vec<D> index = pointToIndex(s.mapped.list().point(i));
      Size<D> voxel;
      for (int d = 0; d < D; ++d)
        voxel[d] = static_cast<std::size_t>(std::clamp(
            std::floor(index[d] + 0.5), 0.0, static_cast<double>(level_.moving->geometry.size[d] - 1)));
      for (int d = 0; d < D; ++d)
        covectors.mm[d][i] = weight * edgeAlong(d, voxel);
    }
    s.pullBack(oneThread, ofChain, covectors, ofBatch);
    return ImageSum{0, s.points.count};
  });
  return result;
}

template class AdvancedKappaStatistic<2>;
template class AdvancedKappaStatistic<3>;

}
