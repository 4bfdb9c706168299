#include "Core/Registration/Inverse/InverseTransform.h"

#include "Core/Compute/Error.h"
#include "Core/Registration/Chain/ChainPasses.h"
#include "Core/Registration/Chain/JacobianAt.h"
#include "Core/Registration/TransformFiles/ItkTransformConversion.h"

#include <algorithm>
#include <limits>

namespace tessera {
namespace {

[[noreturn]] void failWithout(const char* what)
{
  throw Error(ExitCode::usage, std::string("the inverse of a transform: it has no ") + what
                                   + ". Allowed: images, points, fields and first derivatives.");
}

}

template <int D>
InverseTransform<D>::InverseTransform(Context& context, std::shared_ptr<const TransformChain<D>> chain,
                                      const ImageGeometry<D>& region, double toleranceMm)
    : inverse_(context, std::move(chain), region, toleranceMm)
{
}

template <int D>
std::vector<typename InverseTransform<D>::Root> InverseTransform<D>::rootsOf(Context& context,
                                                                             const ListSamples<D>& list) const
{
  std::vector<Root> roots(list.count);
  inverse_.roots(context, list, roots.data());
  InverseCounts counts;
  for (const Root& root : roots) {
    counts.folded += root.kind == RootKind::folded;
    counts.outside += root.kind == RootKind::outside;
    counts.insideFolds += root.kind == RootKind::insideFolds;
    if (isRoot(root.kind))
      counts.largestResidualMm = std::max(counts.largestResidualMm, root.residualMm);
  }
  const std::scoped_lock lock(mutex_);
  counts_.points += roots.size();
  counts_.folded += counts.folded;
  counts_.outside += counts.outside;
  counts_.insideFolds += counts.insideFolds;
  counts_.largestResidualMm = std::max(counts_.largestResidualMm, counts.largestResidualMm);
  return roots;
}

template <int D>
InverseCounts InverseTransform<D>::takeCounts() const
{
  const std::scoped_lock lock(mutex_);
  return std::exchange(counts_, {});
}

template <int D>
void InverseTransform<D>::map(Context& context, const Samples<D>& samples, std::span<const double>,
                              const PointsOut<D>& out) const
{
  PointBatch<D> storage;
  const std::vector<Root> roots = rootsOf(context, asList<D>(samples, storage));
  for (std::size_t i = 0; i < roots.size(); ++i)
    for (int d = 0; d < D; ++d)
      out[d][i] = roots[i].pointMm[d];
}

template <int D>
void InverseTransform<D>::spatialDerivatives(Context& context, const Samples<D>& samples,
                                             std::span<const double>, double* jacobian, double* hessian) const
{
  if (hessian)
    failWithout("second derivatives");
  PointBatch<D> storage;
  const std::vector<Root> roots = rootsOf(context, asList<D>(samples, storage));
  const std::size_t count = roots.size();
  PointBatch<D> places;
  places.count = count;
  for (std::size_t i = 0; i < count; ++i)
    for (int d = 0; d < D; ++d)
      places.mm[d][i] = roots[i].pointMm[d];
  chainSpatialDerivatives<D>(context, inverse_.chain(), places.list(), jacobian, nullptr);
  for (std::size_t i = 0; i < count; ++i) {
    const Matrix<D> m = inverse(jacobianAt<D>(jacobian, count, i));
    for (int entry = 0; entry < D * D; ++entry)
      jacobian[entry * count + i] =
          isRoot(roots[i].kind) ? m[entry / D][entry % D] : std::numeric_limits<double>::quiet_NaN();
  }
}

template <int D>
void InverseTransform<D>::pullBackSpatialDerivatives(Context&, const Samples<D>&, std::span<const double>,
                                                     const double*, const double*, std::span<double>) const
{
  failWithout("parameters");
}

template <int D>
std::vector<FileEntry> InverseTransform<D>::fileEntries() const
{
  failWithout("parameters");
}

template <int D>
std::vector<double> InverseTransform<D>::restore(const Parameters&)
{
  failWithout("parameters");
}

template <int D>
std::shared_ptr<const TransformChain<D>>
inverseChain(Context& context, std::shared_ptr<const TransformChain<D>> chain, const Registry& registry,
             const ImageGeometry<D>& region, double toleranceMm)
{
  if (const auto map = asLinearMap<D>(chain.get(), chain->parameters)) {
    const ItkTransform inverted = itkAffine<D>(inverseOfLinear<D>(*map));
    return chainFromItk<D>({inverted}, registry, "the inverse of a transform", {});
  }
  return std::make_shared<TransformChain<D>>(
      TransformChain<D>{nullptr,
                        Combination::compose,
                        std::make_shared<InverseTransform<D>>(context, std::move(chain), region, toleranceMm),
                        {}});
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template class InverseTransform<D>;                                                                        \
  template std::shared_ptr<const TransformChain<D>> inverseChain(                                            \
      Context&, std::shared_ptr<const TransformChain<D>>, const Registry&, const ImageGeometry<D>& region,   \
      double toleranceMm);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
