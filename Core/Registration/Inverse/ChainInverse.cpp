#include "Core/Registration/Inverse/ChainInverse.h"

#include "Core/Compute/Error.h"
#include "Core/Registration/Chain/AddedTransforms.h"
#include "Core/Registration/Chain/JacobianAt.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace tessera {
namespace {

constexpr int mostSteps = 30, mostHalvings = 8;
/// Below this share of the linear part's determinant a Jacobian counts as singular: the linear part's takes
/// its place.
constexpr double singularShare = 1e-3;
/// Above this share, a step before the root, the determinant at the root is taken to be above 0.
constexpr double safeShare = 0.5;
/// T is evaluated with some hundred roundings of coordinates.
constexpr double roundingOfCoordinates = 1e-13;

template <int D>
double norm(const Vec<D>& v)
{
  double sum = 0;
  for (const double x : v)
    sum += x * x;
  return std::sqrt(sum);
}

template <int D>
double largestOf(const Vec<D>& v)
{
  double largest = 0;
  for (const double x : v)
    largest = std::max(largest, std::abs(x));
  return largest;
}

template <int D>
Vec<D> notANumber()
{
  Vec<D> none;
  none.fill(std::numeric_limits<double>::quiet_NaN());
  return none;
}

}

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
    product *= norm<D>(row);
  const AffineMap<D> result = inverse(map);
  bool finite = std::abs(determinant(map.matrix)) > 1e-12 * product;
  for (int d = 0; d < D; ++d) {
    finite = finite && std::isfinite(result.offset[d]);
    for (int e = 0; e < D; ++e)
      finite = finite && std::isfinite(result.matrix[d][e]);
  }
  if (!finite)
    throw Error(ExitCode::usage,
                "the inverse of a transform: its linear part maps the space to a plane, a line or a point "
                "(its matrix is singular): it has no inverse. Allowed: scales other than 0, and axes that "
                "span the space.");
  return result;
}

/// Newton's method for a batch of points of which each has its own state.
template <int D>
class ChainInverse<D>::Search {
public:
  explicit Search(const ChainInverse& inverse)
      : inverse_(inverse), linearDeterminant_(determinant(inverse.linear_.matrix)),
        jacobian_(D * D * batchCapacity)
  {
  }

  /// Searches from each of the `starts` for a root of the point of the same number.
  void operator()(Context& context, std::span<const Vec<D>> pointsMm, std::span<const Vec<D>> startsMm,
                  Root* roots)
  {
    states_.clear();
    for (std::size_t i = 0; i < pointsMm.size(); ++i)
      states_.push_back(State{i, pointsMm[i], startsMm[i]});
    active_.clear();
    for (State& state : states_)
      active_.push_back(&state);
    while (!active_.empty()) {
      evaluate(context);
      needsStep_.clear();
      for (State* state : active_)
        takeOrHalve(*state, roots[state->number]);
      differentiate(context, roots);
      std::erase_if(active_, [](const State* state) { return state->done; });
    }
  }

private:
  struct State {
    std::size_t number; // of the point
    Vec<D> pointMm, trialMm;
    Vec<D> imageMm{};                                          // of the trial
    Matrix<D> slope{};                                         // inverse of the Jacobian that gives the steps
    Vec<D> placeMm{}, residualMm{}, stepMm{};                  // of the last point that was taken
    double lengthMm = std::numeric_limits<double>::infinity(); // of the residual
    double share = -std::numeric_limits<double>::infinity();   // of the Jacobian's determinant before it
    int steps = 0, halvings = 0;
    bool done = false, isRoot = false;
  };

  void evaluate(Context& context)
  {
    batch_.count = active_.size();
    for (std::size_t i = 0; i < active_.size(); ++i)
      for (int d = 0; d < D; ++d)
        batch_.mm[d][i] = active_[i]->trialMm[d];
    mapChain<D>(context, *inverse_.chain_, batch_.list(), batch_.out());
    for (std::size_t i = 0; i < active_.size(); ++i)
      active_[i]->imageMm = batch_.list().point(i);
  }

  /// Takes the trial if it is nearer to a root; else tries half of the step.
  void takeOrHalve(State& state, Root& root)
  {
    Vec<D> residualMm;
    for (int d = 0; d < D; ++d)
      residualMm[d] = state.imageMm[d] - state.pointMm[d];
    const double lengthMm = norm<D>(residualMm);
    if (!std::isfinite(lengthMm))
      requireNumber(state);
    if (lengthMm < state.lengthMm) {
      const double ratio = lengthMm / state.lengthMm; // 0 at the start
      state.placeMm = state.trialMm;
      state.residualMm = residualMm;
      state.lengthMm = lengthMm;
      state.halvings = 0;
      const double enoughMm = toleranceMm(state);
      state.isRoot = lengthMm <= enoughMm;
      if (state.isRoot ? state.share > safeShare : state.steps == mostSteps)
        return finish(state, root);
      if (!state.isRoot && state.steps > 0 && lengthMm * ratio <= enoughMm)
        return step(state); // the same Jacobian will do for the last step
      needsStep_.push_back(&state);
      return;
    }
    if (++state.halvings > mostHalvings) {
      needsStep_.push_back(&state); // for the determinant where the search ended
      return;
    }
    for (int d = 0; d < D; ++d)
      state.trialMm[d] = state.placeMm[d] + std::ldexp(state.stepMm[d], -state.halvings);
  }

  double toleranceMm(const State& state) const
  {
    const double coordinateMm = std::max(largestOf<D>(state.pointMm), largestOf<D>(state.placeMm));
    return std::max(inverse_.toleranceMm_, roundingOfCoordinates * coordinateMm);
  }

  /// The determinants of those that ended, and the steps of those that go on.
  void differentiate(Context& context, Root* roots)
  {
    if (needsStep_.empty())
      return;
    batch_.count = needsStep_.size();
    for (std::size_t i = 0; i < needsStep_.size(); ++i)
      for (int d = 0; d < D; ++d)
        batch_.mm[d][i] = needsStep_[i]->placeMm[d];
    chainSpatialDerivatives<D>(context, *inverse_.chain_, batch_.list(), jacobian_.data(), nullptr);
    for (std::size_t i = 0; i < needsStep_.size(); ++i) {
      State& state = *needsStep_[i];
      const Matrix<D> jacobian = jacobianAt<D>(jacobian_.data(), needsStep_.size(), i);
      state.share = determinant(jacobian) / linearDeterminant_;
      if (state.isRoot || state.halvings > mostHalvings) {
        finish(state, roots[state.number]);
        continue;
      }
      state.slope = state.share > singularShare ? inverse(jacobian) : inverse_.linearInverse_.matrix;
      step(state);
    }
  }

  static void step(State& state)
  {
    const Vec<D> step = apply<D>(state.slope, state.residualMm);
    for (int d = 0; d < D; ++d) {
      state.stepMm[d] = -step[d];
      state.trialMm[d] = state.placeMm[d] - step[d];
    }
    ++state.steps;
  }

  void finish(State& state, Root& root) const
  {
    state.done = true;
    root.residualMm = state.lengthMm;
    root.pointMm = state.isRoot ? state.placeMm : notANumber<D>();
    if (state.isRoot)
      root.kind = state.share > 0 ? RootKind::regular : RootKind::folded;
    else
      root.kind = state.share > singularShare ? RootKind::outside : RootKind::insideFolds;
  }

  static void requireNumber(const State& state)
  {
    for (int d = 0; d < D; ++d)
      if (!std::isfinite(state.pointMm[d]) || !std::isfinite(state.trialMm[d]))
        return;
    throw Error(ExitCode::unreadableInput,
                "the inverse of a transform: the transform gives no number at a finite point (a field of "
                "displacements may hold NaN). Allowed: transforms that map every point to finite numbers.");
  }

  const ChainInverse& inverse_;
  double linearDeterminant_;
  PointBatch<D> batch_;
  std::vector<double> jacobian_;
  std::vector<State> states_;
  std::vector<State*> active_, needsStep_;
};

template <int D>
ChainInverse<D>::ChainInverse(Context& context, std::shared_ptr<const TransformChain<D>> chain,
                              const ImageGeometry<D>& region, double toleranceMm)
    : chain_(std::move(chain)), linear_(linearPart<D>(*chain_)), linearInverse_(inverseOfLinear<D>(linear_)),
      toleranceMm_(toleranceMm), cells_(context, *chain_, linearInverse_, region)
{
}

template <int D>
void ChainInverse<D>::roots(Context& context, const ListSamples<D>& pointsMm, Root* roots) const
{
  std::vector<Vec<D>> points, starts;
  for (std::size_t i = 0; i < pointsMm.count; ++i) {
    points.push_back(pointsMm.point(i));
    starts.push_back(linearInverse_(points.back()));
  }
  Search search(*this);
  search(context, points, starts, roots);
  for (std::size_t i = 0; i < points.size(); ++i)
    if (roots[i].kind != RootKind::regular)
      roots[i] = secondRoot(context, points[i], roots[i]);
}

template <int D>
typename ChainInverse<D>::Root ChainInverse<D>::secondRoot(Context& context, const Vec<D>& pointMm,
                                                           const Root& first) const
{
  const std::vector<Vec<D>> candidatesMm = cells_.candidatesMm(pointMm);
  const Vec<D> startMm = linearInverse_(pointMm);
  const auto distanceMm = [&](const Root& root) {
    Vec<D> between;
    for (int d = 0; d < D; ++d)
      between[d] = root.pointMm[d] - startMm[d];
    return norm<D>(between);
  };
  Root best = first;
  Search search(*this);
  std::vector<Root> found(batchCapacity);
  for (std::size_t begin = 0; begin < candidatesMm.size(); begin += batchCapacity) {
    const std::size_t count = std::min(batchCapacity, candidatesMm.size() - begin);
    const std::vector<Vec<D>> points(count, pointMm);
    search(context, points, std::span(candidatesMm).subspan(begin, count), found.data());
    for (std::size_t i = 0; i < count; ++i)
      if (isRoot(found[i].kind)
              ? found[i].kind < best.kind
                    || (found[i].kind == best.kind && distanceMm(found[i]) < distanceMm(best))
              : best.kind == RootKind::outside && found[i].kind == RootKind::insideFolds)
        best = found[i];
  }
  return best;
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template AffineMap<D> linearPart<D>(const TransformChain<D>&);                                             \
  template AffineMap<D> inverseOfLinear<D>(const AffineMap<D>&);                                             \
  template class ChainInverse<D>;
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
