#include "Core/Registration/Inverse/ChainInverse.h"

#include "Core/Compute/Error.h"
#include "Core/Registration/Chain/AddedTransforms.h"
#include "Core/Registration/TransformParts.h"

#include <algorithm>
#include <cmath>

namespace tessera {

template <int D>
AffineMap<D> linearPart(const TransformChain<D>& chain)
{
  AffineMap<D> last;
  if (const LinearForm<D>* linear = chain.transform->linear())
    last = linear->pointMap(chain.parameters);
  else if (const auto* added = dynamic_cast<const AddedTransforms<D>*>(chain.transform.get()))
    last = linearPart<D>(added->chain());
  if (!chain.initial)
    return last;
  AffineMap<D> before = linearPart<D>(*chain.initial);
  if (chain.combination == Combination::compose)
    return compose(last, before);
  for (int d = 0; d < D; ++d) {
    before.offset[d] += last.offset[d];
    for (int e = 0; e < D; ++e)
      before.matrix[d][e] += last.matrix[d][e] - (d == e ? 1 : 0);
  }
  return before;
}

template <int D>
AffineMap<D> inverseOfLinear(const AffineMap<D>& map)
{
  double product = 1; // of the lengths of the columns, which bounds the determinant (Hadamard)
  for (const auto& row : transpose<D>(map.matrix))
    product *= lengthOf<D>(row);
  const AffineMap<D> result = inverse(map);
  bool finite = std::abs(determinant(map.matrix)) > 1e-12 * product;
  for (int d = 0; d < D; ++d) {
    finite = finite && std::isfinite(result.offset[d]);
    for (int e = 0; e < D; ++e)
      finite = finite && std::isfinite(result.matrix[d][e]);
  }
  if (!finite)
    failAs(ExitCode::usage, "the inverse of a transform",
           "its linear part maps the space to a plane, a line or a point (its matrix is singular): it has no "
           "inverse",
           "scales other than 0, and axes that span the space");
  return result;
}

void failWithoutNumber()
{
  failAs(ExitCode::unreadableInput, "the inverse of a transform",
         "the transform gives no number at a finite point (a field of displacements may hold NaN)",
         "transforms that map every point to finite numbers");
}

/// Searches for a batch of points.
template <int D>
class ChainInverse<D>::Searches {
public:
  explicit Searches(const ChainInverse& inverse) : inverse_(inverse), jacobian_(D * D * batchCapacity) {}

  /// Searches from each of the `starts` for a root of the point of the same number.
  void operator()(Context& context, std::span<const Vec<D>> pointsMm, std::span<const Vec<D>> startsMm,
                  Root<D>* roots)
  {
    searches_.clear();
    active_.clear();
    for (std::size_t i = 0; i < pointsMm.size(); ++i)
      searches_.emplace_back(pointsMm[i], startsMm[i]);
    for (Search& search : searches_)
      active_.push_back(&search);
    while (!active_.empty()) {
      giveImages(context);
      giveJacobians(context);
      std::erase_if(active_, [](const Search* search) { return search->asks() == Search::Asks::nothing; });
    }
    for (std::size_t i = 0; i < pointsMm.size(); ++i)
      roots[i] = searches_[i].root();
  }

private:
  using Search = RootSearch<D>;

  void giveImages(Context& context)
  {
    gather(active_);
    mapChain<D>(context, *inverse_.chain_, batch_.list(), batch_.out());
    for (std::size_t i = 0; i < active_.size(); ++i) {
      active_[i]->giveImage(inverse_.rules_, batch_.list().point(i));
      if (active_[i]->isBroken())
        failWithoutNumber();
    }
  }

  void giveJacobians(Context& context)
  {
    asking_.clear();
    for (Search* search : active_)
      if (search->asks() == Search::Asks::jacobian)
        asking_.push_back(search);
    if (asking_.empty())
      return;
    gather(asking_);
    chainSpatialDerivatives<D>(context, *inverse_.chain_, batch_.list(), jacobian_.data(), nullptr);
    for (std::size_t i = 0; i < asking_.size(); ++i)
      asking_[i]->giveJacobian(inverse_.rules_, jacobianAt<D>(jacobian_.data(), asking_.size(), i));
  }

  void gather(const std::vector<Search*>& searches)
  {
    batch_.count = searches.size();
    for (std::size_t i = 0; i < searches.size(); ++i)
      batch_.set(i, searches[i]->atMm());
  }

  const ChainInverse& inverse_;
  PointBatch<D> batch_;
  std::vector<double> jacobian_;
  std::vector<Search> searches_;
  std::vector<Search*> active_, asking_;
};

template <int D>
std::size_t ChainInverse<D>::roots(Context& context, const ListSamples<D>& pointsMm, Root<D>* roots) const
{
  std::vector<Vec<D>> points, starts;
  for (std::size_t i = 0; i < pointsMm.count; ++i) {
    points.push_back(pointsMm.point(i));
    starts.push_back(rules_.linearInverse(points.back()));
  }
  Searches search(*this);
  search(context, points, starts, roots);
  std::size_t again = 0;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (roots[i].kind != RootKind::regular) {
      roots[i] = secondRoot(context, points[i], roots[i]);
      ++again;
    }
  return again;
}

template <int D>
Root<D> ChainInverse<D>::secondRoot(Context& context, const Vec<D>& pointMm, const Root<D>& first) const
{
  const std::vector<Vec<D>> candidatesMm = cells(context).candidatesMm(pointMm);
  const Vec<D> startMm = rules_.linearInverse(pointMm);
  Root<D> best = first;
  Searches search(*this);
  std::vector<Root<D>> found(batchCapacity);
  for (std::size_t begin = 0; begin < candidatesMm.size(); begin += batchCapacity) {
    const std::size_t count = std::min(batchCapacity, candidatesMm.size() - begin);
    const std::vector<Vec<D>> points(count, pointMm);
    search(context, points, std::span(candidatesMm).subspan(begin, count), found.data());
    for (std::size_t i = 0; i < count; ++i)
      if (isBetterRoot<D>(found[i], best, startMm))
        best = found[i];
  }
  return best;
}

TESSERA_INSTANTIATE_CLASS_TO_4(ChainInverse);
TESSERA_INSTANTIATE_FUNCTIONS_TO_4(linearPart<D>, inverseOfLinear<D>);

}
