#include "Components/Metrics/CorrespondingPointsEuclideanDistanceMetric.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/MemoryCount.h"

#include <algorithm>
#include <limits>

namespace tessera {
namespace {

const Parameter<double> pointErrorInMm =
    realParameter("PointErrorInMm", 0, Arity::perLevel, "mm",
                  "error e of the points: a distance d counts as sqrt(d^2 + e^2) - e, so that pairs nearer "
                  "than e pull weakly; 0: as elastix does, all pull alike")
        .atLeast(0)
        .atMost(1000); // beyond it the difference of two large numbers is left

/// A batch of pairs: the sums of weighted distances and of weights, and the covectors of the first sum.
template <int D>
struct PairBatch {
  PointBatch<D> points, mapped, covectors;
  double distances = 0, weights = 0;
  std::size_t valid = 0;

  void fill(const PointPairs<D>& pairs, std::size_t first, std::size_t last)
  {
    points.count = mapped.count = last - first;
    for (std::size_t i = first; i < last; ++i)
      for (int d = 0; d < D; ++d)
        points.mm[d][i - first] = pairs.fixedMm[i][d];
  }

  void compare(const Vec<D>& partnerMm, double weight, double errorMm, std::size_t i,
               const Mask<D>* movingMask)
  {
    Vec<D> mappedMm, difference;
    double squared = 0;
    for (int d = 0; d < D; ++d) {
      mappedMm[d] = mapped.mm[d][i];
      difference[d] = mappedMm[d] - partnerMm[d];
      squared += difference[d] * difference[d];
    }
    const bool counts = !movingMask || movingMask->contains(mappedMm);
    const PairDistance distance(squared, errorMm);
    const bool hasSlope = counts && distance.root > std::numeric_limits<double>::epsilon();
    for (int d = 0; d < D; ++d)
      covectors.mm[d][i] = hasSlope ? weight * difference[d] / distance.root : 0;
    if (counts) {
      distances += weight * distance.value;
      weights += weight;
      ++valid;
    }
  }
};

}

template <int D>
CorrespondingPointsEuclideanDistanceMetric<D>::CorrespondingPointsEuclideanDistanceMetric(
    const Parameters& parameters)
    : parameters_(parameters)
{
  for (std::size_t level = 0; level < parameters.levelCount(); ++level)
    errorsMm_.push_back(parameters.get(pointErrorInMm, level));
}

template <int D>
const ComponentDescription& CorrespondingPointsEuclideanDistanceMetric<D>::description()
{
  static const ComponentDescription description{
      "Metric",
      "CorrespondingPointsEuclideanDistanceMetric",
      "mean distance of corresponding points (-fp, -mp, --point-weights) in mm",
      {pointErrorInMm}};
  return description;
}

template <int D>
void CorrespondingPointsEuclideanDistanceMetric<D>::prepareForLevel(Context& context,
                                                                    const TermLevel<D>& level)
{
  if (!level.points || level.points->fixedMm.empty()
      || level.points->fixedMm.size() != level.points->movingMm.size())
    failAs(ExitCode::usage, parameters_.where("Metric"),
           "CorrespondingPointsEuclideanDistanceMetric has no points",
           "-fp and -mp with files of as many points each");
  level_ = level;
  const MemoryPart part(context, "point pairs");
  onCuda_ = context.onCuda()
                ? std::make_unique<CorrespondingPointsOnCuda<D>>(context, level, errorsMm_[level.level])
                : nullptr;
}

template <int D>
TermValue CorrespondingPointsEuclideanDistanceMetric<D>::evaluateHere(Context& context, const SampleSet<D>&,
                                                                      std::span<const double> parameters,
                                                                      std::span<double> gradient)
{
  const TransformChain<D>& chain = chain_(*level_.chain, parameters);
  const PointPairs<D>& pairs = *level_.points;
  std::fill(gradient.begin(), gradient.end(), 0.0);
  PairBatch<D> batch;
  for (std::size_t first = 0; first < pairs.fixedMm.size(); first += batchCapacity) {
    batch.fill(pairs, first, std::min(first + batchCapacity, pairs.fixedMm.size()));
    mapChain<D>(context, chain, batch.points.list(), batch.mapped.out());
    for (std::size_t i = 0; i < batch.points.count; ++i)
      batch.compare(pairs.movingMm[first + i], pairs.weights.empty() ? 1 : pairs.weights[first + i],
                    errorsMm_[level_.level], i, level_.movingMask.get());
    if (gradient.empty())
      continue;
    mapInitial<D>(context, chain, batch.points.list(), batch.points.out());
    optimizable(*chain.transform)
        .pullBack(context, batch.points.list(), chain.parameters, batch.covectors.list().pointMm, gradient);
  }
  const double perPair = batch.valid == 0 ? 0 : 1 / batch.weights;
  for (double& value : gradient)
    value *= perPair;
  return {perPair * batch.distances, batch.valid, pairs.fixedMm.size()};
}

TESSERA_INSTANTIATE_CLASS(CorrespondingPointsEuclideanDistanceMetric);

}
