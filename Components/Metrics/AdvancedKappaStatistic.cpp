#include "Components/Metrics/AdvancedKappaStatistic.h"

#include "Components/Metrics/Shared/MovingSamples.h"
#include "Components/Metrics/Shared/SumsOnCuda.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Image/Voxels/ImageOnCuda.h"
#include "Core/Parameters/ParameterText.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace tessera {
namespace {

const Parameter<bool> useForegroundValue =
    booleanParameter("UseForegroundValue", true, Arity::perLevel,
                     "foreground is ForegroundValue; \"false\": every intensity above 0.001");

const Parameter<double> foregroundValue = realParameter("ForegroundValue", 1, Arity::perLevel, "intensity",
                                                        "intensity of the foreground, to 0.001");

const Parameter<bool> useComplement =
    booleanParameter("UseComplement", true, Arity::perLevel,
                     "1 minus the overlap, which optimizers make small; \"false\": the overlap");

}

template <int D>
const ComponentDescription& AdvancedKappaStatistic<D>::description()
{
  static const ComponentDescription description{
      "Metric", "AdvancedKappaStatistic",
      "1 minus the overlap of two foregrounds, counted in samples as elastix does; SoftDice has a derivative",
      joinedRows({ValidSampleRule::parameters(), {useForegroundValue, foregroundValue, useComplement}})};
  return description;
}

template <int D>
void AdvancedKappaStatistic<D>::prepareForLevel(Context& context, const TermLevel<D>& level)
{
  this->endLevel();
  level_ = level;
  foreground_ = {parameters_.get(useForegroundValue, level.level),
                 parameters_.get(foregroundValue, level.level)};
  formula_ = KappaOfMemberships(parameters_.get(useComplement, level.level));
  for (const auto& [image, name] : {std::pair{level.fixed, "fixed"}, std::pair{level.moving, "moving"}})
    if (!hostVoxels<D>(image).empty()
        && std::ranges::none_of(image->voxels, [this](float v) { return foreground_.contains(v); }))
      parameters_.warn("AdvancedKappaStatistic: level " + std::to_string(level.level) + ": no voxel of the "
                       + name + " image is foreground, which is "
                       + (foreground_.hasValue ? "(ForegroundValue " + realText(foreground_.value) + ")"
                                               : "any intensity above 0")
                       + ". It finds nothing. Allowed: the ForegroundValue of the images, or "
                         "(UseForegroundValue \"false\").");
  if (context.onCuda())
    prepareOnCuda(context);
}

template <int D>
void AdvancedKappaStatistic<D>::prepareOnCuda(Context& context)
{
  const MemoryPart part(context, "metric");
  auto foregrounds = std::make_unique<ForegroundsOnCuda<D>>(foreground_, *level_.interpolator->onCuda(),
                                                            level_.moving->geometry,
                                                            voxelsOnCuda<D>(context, level_.moving));
  auto kappa = std::make_unique<SumsOnCuda<KappaOfMemberships>>(context, formula_);
  const MemoryPart ofSamples(context, "samples");
  onCuda_ = std::make_unique<ImageTermOnCuda<D>>(context, level_, std::move(foregrounds), std::move(kappa));
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
  const auto membership = [this](const MovingSamples<D>& s, std::size_t i) {
    return KappaOfMemberships::membership(foreground_.contains(s.fixed[i]),
                                          foreground_.contains(s.moving[i]));
  };

  std::atomic<std::size_t> inFixed = 0, inMoving = 0, inBoth = 0;
  TermValue result = evaluate({}, [&](Context& oneThread, const TransformChain<D>& ofChain,
                                      const ListSamples<D>& points, const float* fixed, std::span<double>) {
    thread_local MovingSamples<D> s;
    s.gather(oneThread, ofChain, *level_.interpolator, points, fixed, false);
    KappaOfMemberships::Sums sums;
    for (std::size_t i = 0; i < s.points.count; ++i)
      formula_.accumulate(sums, s.fixed[i], membership(s, i));
    inFixed += static_cast<std::size_t>(sums.fixed);
    inMoving += static_cast<std::size_t>(sums.moving);
    inBoth += static_cast<std::size_t>(sums.both);
    return ImageSum{0, s.points.count};
  });
  this->checkValid(result.valid, result.asked);

  const KappaOfMemberships::Table table = formula_.finish(
      {static_cast<double>(inFixed), static_cast<double>(inMoving), static_cast<double>(inBoth)},
      result.valid);
  result.value = table.value;
  if (gradient.empty())
    return result;
  const auto valid = static_cast<double>(result.valid); // the mean over samples is taken
  const PointToIndex<D> pointToIndex = level_.moving->geometry.pointToIndex();
  const ForegroundEdges<D> edges(level_.moving->voxels.data(), level_.moving->geometry);
  evaluate(gradient, [&](Context& oneThread, const TransformChain<D>& ofChain, const ListSamples<D>& points,
                         const float* fixed, std::span<double> ofBatch) {
    thread_local MovingSamples<D> s;
    thread_local PointBatch<D> covectors;
    s.gather(oneThread, ofChain, *level_.interpolator, points, fixed, false);
    for (std::size_t i = 0; i < s.points.count; ++i) {
      const double weight =
          valid * (table.ofAll + (foreground_.contains(s.fixed[i]) ? table.ofForeground : 0));
      const Vec<D> edge = edges.at(pointToIndex(s.mapped.list().point(i)), foreground_);
      for (int d = 0; d < D; ++d)
        covectors.mm[d][i] = weight * edge[d];
    }
    s.pullBack(oneThread, ofChain, covectors, ofBatch);
    return ImageSum{0, s.points.count};
  });
  return result;
}

TESSERA_INSTANTIATE_CLASS(AdvancedKappaStatistic);

}
