#include "Core/Registration/Inverse/InverseTransform.h"

#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/TransformFiles/ItkTransformConversion.h"
#include "Core/Registration/TransformParts.h"

#include <algorithm>
#include <limits>

namespace tessera {

void InverseCounts::add(const InverseCounts& other)
{
  points += other.points;
  folded += other.folded;
  outside += other.outside;
  insideFolds += other.insideFolds;
  largestResidualMm = std::max(largestResidualMm, other.largestResidualMm);
  searchedAgain += other.searchedAgain;
}

template <int D>
std::vector<Root<D>> InverseTransform<D>::rootsOf(Context& context, const ListSamples<D>& list) const
{
  std::vector<Root<D>> roots(list.count);
  InverseCounts counts{.points = roots.size(), .searchedAgain = inverse_.roots(context, list, roots.data())};
  for (const Root<D>& root : roots) {
    counts.folded += root.kind == RootKind::folded;
    counts.outside += root.kind == RootKind::outside;
    counts.insideFolds += root.kind == RootKind::insideFolds;
    if (isRoot(root.kind))
      counts.largestResidualMm = std::max(counts.largestResidualMm, root.residualMm);
  }
  addCounts(counts);
  return roots;
}

template <int D>
void InverseTransform<D>::addCounts(const InverseCounts& counts) const
{
  const std::scoped_lock lock(mutex_);
  counts_.add(counts);
}

template <int D>
InverseCounts InverseTransform<D>::takeCounts() const
{
  const std::scoped_lock lock(mutex_);
  return std::exchange(counts_, {});
}

template <int D>
void InverseTransform<D>::map(Context& context, const ListSamples<D>& samples, std::span<const double>,
                              const PointsOut<D>& out) const
{
  const std::vector<Root<D>> roots = rootsOf(context, samples);
  for (std::size_t i = 0; i < roots.size(); ++i)
    for (int d = 0; d < D; ++d)
      out[d][i] = roots[i].pointMm[d];
}

/// With J and H those of T at the root, and G = J^-1:
///
///   d root / dy = G, and the second derivatives of component k are -sum_l G[k][l] G^T H_l G
template <int D>
void InverseTransform<D>::spatialDerivatives(Context& context, const ListSamples<D>& samples,
                                             std::span<const double>, double* jacobian, double* hessian) const
{
  constexpr int S = symmetricCount(D);
  const std::vector<Root<D>> roots = rootsOf(context, samples);
  const std::size_t count = roots.size();
  PointBatch<D> places;
  places.count = count;
  for (std::size_t i = 0; i < count; ++i)
    places.set(i, roots[i].pointMm);
  chainSpatialDerivatives<D>(context, inverse_.chain(), places.list(), jacobian, hessian);
  for (std::size_t i = 0; i < count; ++i) {
    Matrix<D> g = inverseMatrix<D>(jacobianAt<D>(jacobian, count, i));
    if (!isRoot(roots[i].kind))
      for (auto& row : g)
        row.fill(std::numeric_limits<double>::quiet_NaN());
    for (int entry = 0; entry < D * D; ++entry)
      jacobian[entry * count + i] = g[entry / D][entry % D];
    if (!hessian)
      continue;
    double turned[D][S] = {}; // G^T H_l G
    for (int l = 0; l < D; ++l)
      for (int a = 0; a < D; ++a)
        for (int b = a; b < D; ++b)
          for (int c = 0; c < D; ++c)
            for (int d = 0; d < D; ++d)
              turned[l][symmetricIndex<D>(a, b)] +=
                  hessian[(l * S + symmetricIndex<D>(c, d)) * count + i] * g[c][a] * g[d][b];
    for (int k = 0; k < D; ++k)
      for (int s = 0; s < S; ++s) {
        double sum = 0;
        for (int l = 0; l < D; ++l)
          sum -= g[k][l] * turned[l][s];
        hessian[(k * S + s) * count + i] = sum;
      }
  }
}

template <int D>
ChainPointer<D> inverseChain(ChainPointer<D> chain, const Registry& registry, const ImageGeometry<D>& region,
                             double toleranceMm)
{
  if (const auto map = asLinearMap<D>(chain.get(), chain->parameters)) {
    const ItkTransform inverted = itkAffine<D>(inverseOfLinear<D>(*map));
    return chainFromItk<D>({inverted}, registry, "the inverse of a transform", {});
  }
  return std::make_shared<TransformChain<D>>(
      TransformChain<D>{nullptr,
                        Combination::compose,
                        std::make_shared<InverseTransform<D>>(std::move(chain), region, toleranceMm),
                        {}});
}

template <int D>
const InverseTransform<D>* asInverse(const TransformChain<D>& chain)
{
  return chain.initial ? nullptr : dynamic_cast<const InverseTransform<D>*>(chain.transform.get());
}

TESSERA_INSTANTIATE_CLASS_TO_4(InverseTransform);
TESSERA_INSTANTIATE_FUNCTIONS_TO_4(asInverse<D>, inverseChain<D>);

}
