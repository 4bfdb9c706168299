#include "Components/Metrics/TransformRigidityPenalty.h"

#include "Core/Compute/Memory/MemoryCount.h"

#include <cmath>

namespace tessera {
namespace {

struct ConditionRows {
  Parameter<bool> use, calculate;
  Parameter<double> weight;

  explicit ConditionRows(const std::string& name)
      : use(booleanParameter("Use" + name + "Condition", true, Arity::perLevel,
                             "whether the penalty has this condition")),
        calculate(booleanParameter("Calculate" + name + "Condition", true, Arity::perLevel,
                                   "whether the table shows this condition if it is not used")),
        weight(realParameter(name + "ConditionWeight", 1, Arity::perLevel, "", "its weight"))
  {
  }
};

const ConditionRows& rowsOf(int condition)
{
  static const ConditionRows rows[rigidity::conditions] = {
      ConditionRows("Linearity"), ConditionRows("Orthonormality"), ConditionRows("Properness")};
  return rows[condition];
}

}

template <int D>
TransformRigidityPenalty<D>::TransformRigidityPenalty(const Parameters& parameters, RigidityImagesUsed used)
    : parameters_(parameters), images_(parameters, used)
{
}

template <int D>
std::vector<ParameterInfo> TransformRigidityPenalty<D>::parameters()
{
  std::vector<ParameterInfo> rows = RigidityImages<D>::parameters();
  for (int c = 0; c < rigidity::conditions; ++c)
    rows.insert(rows.end(), {rowsOf(c).use, rowsOf(c).calculate, rowsOf(c).weight});
  return rows;
}

template <int D>
const ComponentDescription& TransformRigidityPenalty<D>::description()
{
  static const ComponentDescription description{
      "Metric", "TransformRigidityPenalty",
      "keeps a cubic B-spline rigid, everywhere or where images say so (Staring et al. 2007)", parameters()};
  return description;
}

template <int D>
void TransformRigidityPenalty<D>::checkTransform(const Transform<D>& transform) const
{
  const auto* spline = dynamic_cast<const BSplineTransform<D>*>(&transform);
  if (!spline || spline->grid().order != 3 || spline->grid().cyclic)
    parameters_.fail("Metric",
                     "the rigidity penalty does not know this (Transform \"" + transform.name() + "\")",
                     "Allowed: (Transform \"BSplineTransform\") with (BSplineTransformSplineOrder 3) and "
                     "(UseCyclicTransform \"false\")");
}

template <int D>
std::vector<TermColumn> TransformRigidityPenalty<D>::columns() const
{
  std::vector<TermColumn> columns;
  for (int c = 0; c < rigidity::conditions; ++c) {
    const std::string condition = std::array{"LC", "OC", "PC"}[c];
    columns.push_back({"Metric-" + condition, values_[c]});
    columns.push_back({"||Gradient-" + condition + "||", norms_[c]});
  }
  return columns;
}

template <int D>
void TransformRigidityPenalty<D>::prepareForLevel(Context& context, const TermLevel<D>& level)
{
  endLevel();
  checkTransform(*level.chain->transform);
  transform_ = static_cast<const BSplineTransform<D>*>(level.chain->transform.get());
  for (int c = 0; c < rigidity::conditions; ++c) {
    const ConditionRows& rows = rowsOf(c);
    const bool isUsed = parameters_.get(rows.use, level.level);
    weights_[c] = isUsed ? parameters_.get(rows.weight, level.level) : 0;
    isShown_[c] = isUsed || parameters_.get(rows.calculate, level.level);
  }
  const BSplineGrid<D>& points = transform_->grid();
  images_.prepareForLevel(context, level.level, points, level.reading);
  RigidityGrid<D> grid;
  std::ranges::copy(points.points.size, grid.size.begin());
  grid.factors = rigidityFactors<D>(points.points.spacingMm);
  grid.direction = points.points.direction;
  const MemoryPart part(context, "penalties");
  if (context.onCuda())
    onCuda_.emplace(context, grid, images_, *transform_);
  else
    onCpu_.emplace(grid);
}

template <int D>
TermValue TransformRigidityPenalty<D>::valueOf(const RigiditySums& sums, bool withGradient)
{
  TermValue result;
  for (int c = 0; c < rigidity::conditions; ++c) {
    const double value = isRigidAnywhere(sums) ? sums.ofPoints[c] / sums.ofRigidity() : 0;
    result.value += weights_[c] * value;
    if (!withGradient)
      continue;
    values_[c] = isShown_[c] ? value : 0;
    norms_[c] = std::sqrt(sums.squares[c]);
  }
  return result;
}

TESSERA_INSTANTIATE_CLASS(TransformRigidityPenalty);

}
