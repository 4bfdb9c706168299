#include "Components/Transforms/BSplineTransform.h"

#include "Components/Transforms/Shared/BSplineGridFile.h"
#include "Components/Transforms/Shared/BSplineJacobianTerms.h"
#include "Components/Transforms/Shared/TransformFileReading.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Registration/Stage/StageComponents.h"
#include "Core/Registration/TransformFiles/ItkTransformConversion.h"

#include <limits>

namespace tessera {
namespace {

const Parameter<double> finalGridSpacingInPhysicalUnits =
    realParameter("FinalGridSpacingInPhysicalUnits", 8, Arity::perDimension, "mm",
                  "distance of control points at the last level")
        .atLeast(aboveZero);
const Parameter<double> finalGridSpacingInVoxels =
    realParameter("FinalGridSpacingInVoxels", 16, Arity::perDimension, "voxels",
                  "the same in voxels of the fixed image; only one of the two may be given")
        .atLeast(aboveZero);
const Parameter<double> gridSpacingSchedule =
    realParameter("GridSpacingSchedule", std::numeric_limits<double>::quiet_NaN(), Arity::schedule, "",
                  "factors of the final spacing, one a level or one a level and axis; without it 2^(levels - "
                  "1 - level)")
        .atLeast(aboveZero);
const Parameter<std::int64_t> passiveEdgeWidth =
    integerParameter("PassiveEdgeWidth", 0, 0, Arity::perLevel, "control points",
                     "the outermost control points that are held by an optimizer scale of 10000");
const Parameter<std::string> fieldInterpolatorName =
    textParameter("FieldInterpolator", "auto", Arity::single,
                  "how whole fields are computed on a lattice along the grid's axes: the name of such a "
                  "component, or auto");

constexpr double passiveScale = 1e4;
/// Bytes of the lists that the simplest optimizer, the cost and the chain have for each parameter.
constexpr double bytesAParameter = 64;

/// The grid in the form that kernels take, and the coefficients on the device if they are constant.
template <int D>
class HeldBSpline final : public HeldTransformOnCuda<D> {
public:
  HeldBSpline(const Context& context, const BSplineGrid<D>& grid, std::span<const double> constant)
  {
    onCuda_.kind = TransformKind::bspline;
    onCuda_.pointToIndex = grid.points.pointToIndex();
    std::ranges::copy(grid.points.size, onCuda_.points.begin());
    onCuda_.order = grid.order;
    onCuda_.cyclic = grid.cyclic;
    if (constant.empty())
      return;
    coefficients_.fromHost(context, {constant.begin(), constant.end()});
    onCuda_.coefficients = coefficients_.span().data();
  }
  TransformOnCuda<D> at(const Context&, std::span<const double> parameters) override
  {
    if (coefficients_.size() == 0)
      onCuda_.coefficients = parameters.data();
    return onCuda_;
  }

private:
  Buffer<double> coefficients_;
  TransformOnCuda<D> onCuda_;
};

}

template <int D>
const ComponentDescription& BSplineTransform<D>::description()
{
  static const ComponentDescription description{"Transform",
                                                "BSplineTransform",
                                                "x + sum_k c_k beta(x - x_k) on a grid of control points",
                                                {finalGridSpacingInPhysicalUnits, finalGridSpacingInVoxels,
                                                 gridSpacingSchedule, bsplineparameters::splineOrder(),
                                                 bsplineparameters::useCyclicTransform(), passiveEdgeWidth,
                                                 fieldInterpolatorName},
                                                {"RecursiveBSplineTransform"}};
  return description;
}

template <int D>
BSplineTransform<D>::BSplineTransform(const Parameters& parameters)
    : parameters_(parameters), fieldInterpolator_(parameters.get(fieldInterpolatorName)),
      grid_{{},
            static_cast<int>(parameters.get(bsplineparameters::splineOrder())),
            parameters.get(bsplineparameters::useCyclicTransform())}
{
  const std::size_t given = parameters.all(gridSpacingSchedule).size(), levels = parameters.levelCount();
  if (given != 0 && given != levels && given != levels * D)
    parameters.fail(gridSpacingSchedule.name,
                    std::to_string(given) + " values for " + std::to_string(levels) + " levels",
                    "Allowed: " + std::to_string(levels) + " (one a level) or " + std::to_string(levels * D)
                        + " (one a level and axis)");
  if (parameters.has(finalGridSpacingInVoxels.name) && parameters.has(finalGridSpacingInPhysicalUnits.name))
    parameters.fail(finalGridSpacingInVoxels.name, finalGridSpacingInPhysicalUnits.name + " is given too",
                    "Allowed: one of the two");
}

template <int D>
Vec<D> BSplineTransform<D>::finalSpacingMm(const Vec<D>& voxelSpacingMm) const
{
  const bool inVoxels = parameters_.has(finalGridSpacingInVoxels.name);
  const Parameter<double>& parameter = inVoxels ? finalGridSpacingInVoxels : finalGridSpacingInPhysicalUnits;
  Vec<D> spacingMm;
  for (int d = 0; d < D; ++d)
    spacingMm[d] = parameters_.get(parameter, d) * (inVoxels ? voxelSpacingMm[d] : 1);
  return spacingMm;
}

template <int D>
double BSplineTransform<D>::spacingFactor(std::size_t level, int axis) const
{
  const std::vector<double> schedule = parameters_.all(gridSpacingSchedule);
  const std::size_t levels = parameters_.levelCount();
  if (schedule.empty())
    return std::exp2(static_cast<double>(levels - 1 - level));
  return schedule.size() == levels ? schedule[level] : schedule[level * D + axis];
}

template <int D>
BSplineGrid<D> BSplineTransform<D>::gridOfLevel(std::size_t level) const
{
  Vec<D> spacingMm;
  for (int d = 0; d < D; ++d)
    spacingMm[d] = finalSpacingMm_[d] * spacingFactor(level, d);
  return gridOver<D>(box_.geometry, spacingMm, grid_.order, grid_.cyclic);
}

template <int D>
void BSplineTransform<D>::checkGrids() const
{
  const bool inVoxels = parameters_.has(finalGridSpacingInVoxels.name);
  const std::string spacing =
      parameters_.where(inVoxels ? finalGridSpacingInVoxels.name : finalGridSpacingInPhysicalUnits.name);
  for (std::size_t level = 0; level < parameters_.levelCount(); ++level)
    withContext(spacing + ": level " + std::to_string(level), [&] {
      const BSplineGrid<D> grid = gridOfLevel(level);
      requireMemory(bytesAParameter * static_cast<double>(grid.parameterCount()),
                    "a grid of " + extentText(grid.points.size) + " control points", "a wider spacing");
    });
}

template <int D>
void BSplineTransform<D>::setBox(Context& context, const ImageGeometry<D>& fixed,
                                 const TransformChain<D>* initial)
{
  const bool composed = parameters_.get(stageparameters::howToCombineTransforms()) == "Compose";
  box_ = boxOfGrids(context, fixed, composed ? initial : nullptr);
  finalSpacingMm_ = finalSpacingMm(fixed.spacingMm);
  for (int d = 0; d < D; ++d)
    finalSpacingMm_[d] *= box_.stretch[d];
  checkGrids();
}

template <int D>
std::vector<double> BSplineTransform<D>::takeOver(Context& context, const TransformStart<D>& start,
                                                  std::size_t level, const Transform<D>& other,
                                                  std::span<const double> parameters)
{
  const BSplineGrid<D>& from = dynamic_cast<const BSplineTransform&>(other).grid_;
  setBox(context, start.fixed->geometry, start.initial);
  level_ = level;
  setGrid(gridOfLevel(level));
  if (from.order != grid_.order || from.cyclic != grid_.cyclic)
    parameters_.fail(bsplineparameters::splineOrder().name,
                     "the transform to start at has another order or period",
                     "Allowed: splines of one order, cyclic or not");
  if (from.points.size == grid_.points.size)
    return {parameters.begin(), parameters.end()};
  if (from.points.direction != grid_.points.direction)
    parameters_.fail("Transform",
                     "the transform to start at has a grid of other size and direction than the fixed image",
                     "Allowed: a result for the same fixed image");
  return refineCoefficients(context, from, grid_, parameters);
}

template <int D>
void BSplineTransform<D>::prepareForLevel(Context& context, std::size_t level,
                                          std::vector<double>& parameters)
{
  level_ = level;
  const BSplineGrid<D> grid = gridOfLevel(level);
  if (grid == grid_)
    return;
  parameters = refineCoefficients(context, grid_, grid, parameters);
  setGrid(grid);
}

template <int D>
std::vector<double> BSplineTransform<D>::scales(Context&, const ListSamples<D>&,
                                                std::span<const double>) const
{
  const auto width = static_cast<std::size_t>(parameters_.get(passiveEdgeWidth, level_));
  std::vector<double> scales(parameterCount(), 1.0);
  const Size<D>& size = grid_.points.size;
  for (int d = 0; d < D; ++d)
    if (2 * width >= size[d])
      parameters_.fail(passiveEdgeWidth.name,
                       "a grid of " + std::to_string(size[d]) + " control points along axis "
                           + std::to_string(d) + " at level " + std::to_string(level_)
                           + " has none left between the edges",
                       "Allowed: less than half of the control points");
  const std::size_t points = grid_.pointCount();
  for (std::size_t k = 0; k < points && width > 0; ++k) {
    bool edge = false;
    for (std::size_t d = 0, rest = k; d < D; rest /= size[d++])
      edge = edge || rest % size[d] < width || rest % size[d] >= size[d] - width;
    for (int d = 0; d < D && edge; ++d)
      scales[d * points + k] = passiveScale;
  }
  return scales;
}

template <int D>
std::unique_ptr<HeldTransformOnCuda<D>> BSplineTransform<D>::hold(const Context& context,
                                                                  std::span<const double> constant) const
{
  return std::make_unique<HeldBSpline<D>>(context, grid_, constant);
}

template <int D>
JacobianTerms BSplineTransform<D>::jacobianTerms(Context& context, const ListSamples<D>& samples,
                                                 std::span<const double>,
                                                 std::span<const double> scales) const
{
  return bsplineJacobianTerms(context, grid_, samples, scales);
}

template <int D>
std::vector<FileEntry> BSplineTransform<D>::fileEntries() const
{
  std::vector<FileEntry> entries = gridEntries(grid_);
  if (fieldInterpolator_ != fieldInterpolatorName.defaultValue)
    entries.push_back({fieldInterpolatorName.name, {fieldInterpolator_}, {}});
  return entries;
}

template <int D>
std::vector<double> BSplineTransform<D>::restore(const Context&, const Parameters& transformFile)
{
  const BSplineGrid<D> grid = readGrid<D>(transformFile);
  std::string sizes = "a grid of";
  for (int d = 0; d < D; ++d)
    sizes.append(d ? " x " : " ").append(std::to_string(grid.points.size[d]));
  std::vector<double> parameters =
      readTransformParameters(transformFile, grid.parameterCount(),
                              sizes + " control points and " + std::to_string(D) + " components");
  setGrid(grid);
  return parameters;
}

template <int D>
void BSplineTransform<D>::restoreGrid(const Parameters& transformFile)
{
  setGrid(readGrid<D>(transformFile));
}

template <int D>
ItkTransform BSplineTransform<D>::itkTransform(std::span<const double> parameters) const
{
  if (grid_.cyclic)
    throw Error(ExitCode::unwritableOutput, "BSplineTransform: (UseCyclicTransform \"true\"): ITK has no "
                                            "such transform. Allowed: a text file of parameters.");
  return itkBSpline<D>(grid_, parameters);
}

TESSERA_INSTANTIATE_CLASS_TO_4(BSplineTransform);

}
