#include "Core/Runs/TransformOutput/InverseSpline.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Registration/Fields/BSplineFit.h"
#include "Core/Registration/Fields/TransformFields.h"
#include "Core/Registration/Inverse/ChainInverse.h"
#include "Core/Registration/Stage/KnownComponents.h"
#include "Core/Registration/TransformFiles/ItkTransformConversion.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

/// The distance (mm) between control points of a grid along a direction: along an axis of the grid it is the
/// spacing of that axis.
template <int D>
double spacingAlong(const ImageGeometry<D>& grid, const Vec<D>& direction)
{
  const Vec<D> steps = apply<D>(grid.indexFromOffset(), direction); // control points a mm
  double most = 0;
  for (const double step : steps)
    most = std::max(most, std::abs(step));
  return 1 / most;
}

/// A grid over the lattice whose control points are as near to each other as those of the finest B-spline.
template <int D>
BSplineGrid<D> gridLike(const TransformChain<D>& of, const ImageGeometry<D>& lattice,
                        std::optional<int> givenOrder)
{
  Vec<D> spacingMm;
  spacingMm.fill(std::numeric_limits<double>::infinity());
  int order = 0;
  for (const TransformChain<D>* chain = &of; chain; chain = chain->initial.get())
    if (const FieldForm<D>* spline = chain->transform->field()) {
      order = std::max(order, spline->grid().order);
      for (int d = 0; d < D; ++d) {
        Vec<D> axis;
        for (int row = 0; row < D; ++row)
          axis[row] = lattice.direction[row][d];
        spacingMm[d] = std::min(spacingMm[d], spacingAlong<D>(spline->grid().points, axis));
      }
    }
  if (order == 0)
    failAs(ExitCode::usage, "--inverse-as bspline",
           "no transform here is a " + std::string(knowncomponents::bsplineTransform)
               + ", whose spacing of control points the inverse would have",
           "--inverse-as field");
  return gridOver<D>(lattice, spacingMm, givenOrder.value_or(order), false);
}

}

template <int D>
std::string InverseSpline<D>::text() const
{
  const ImageGeometry<D>& grid = chain->transform->field()->grid().points;
  return "a B-spline of " + extentText(grid.size) + " control points with a spacing of "
         + joined(grid.spacingMm, " x ", [](double mm) { return decimals(mm, 3); })
         + " mm; its distance from the inverse is " + decimals(meanMm, 6) + " mm on average and at most "
         + decimals(largestMm, 6) + " mm";
}

template <int D>
InverseSpline<D> fitInverse(Context& context, const Registry& registry, const TransformChain<D>& of,
                            const VectorImage<D>& fieldMm, std::optional<int> order)
{
  const BSplineGrid<D> grid = gridLike<D>(of, fieldMm.geometry, order);
  const std::vector<double> coefficientsMm =
      fitBSpline<D>(context, grid, fieldMm, inverseOfLinear<D>(linearPart<D>(of)));
  InverseSpline<D> fit{
      chainFromItk<D>({itkBSpline<D>(grid, coefficientsMm)}, registry, "the inverse of a transform", {})};

  const VectorImage<D> fitted = displacementField<D>(context, *fit.chain, fieldMm.geometry);
  std::size_t roots = 0;
  for (std::size_t v = 0; v < fitted.voxels.size(); v += D) {
    double squaredMm = 0;
    for (int d = 0; d < D; ++d)
      squaredMm += std::pow(static_cast<double>(fitted.voxels[v + d]) - fieldMm.voxels[v + d], 2);
    if (std::isnan(squaredMm))
      continue; // no root
    ++roots;
    fit.meanMm += std::sqrt(squaredMm);
    fit.largestMm = std::max(fit.largestMm, std::sqrt(squaredMm));
  }
  fit.meanMm /= static_cast<double>(std::max<std::size_t>(roots, 1));
  return fit;
}

TESSERA_INSTANTIATE_CLASS(InverseSpline);
TESSERA_INSTANTIATE_FUNCTIONS(fitInverse<D>);

}
