#include "Core/Registration/Terms/ImageTerm.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Registration/Terms/GradientMatrix.h"
#include "Core/Registration/Terms/IntensityRange.h"

#include <algorithm>

namespace tessera {
namespace {

const Parameter<double> movingImageDerivativeScales =
    realParameter("MovingImageDerivativeScales", 1, Arity::list, "",
                  "factors of the moving image's gradient, one an axis; 1 for axes without");

const Parameter<bool> scaleGradientWithRespectToMovingImageOrientation =
    booleanParameter("ScaleGradientWithRespectToMovingImageOrientation", false, Arity::single,
                     "MovingImageDerivativeScales are along the moving image's own axes");

const Parameter<bool> useMultiThreadingForMetrics =
    booleanParameter("UseMultiThreadingForMetrics", true, Arity::single,
                     "accepted; -threads decides, and results do not depend on it");

const Parameter<std::string> gradientSummation =
    textParameter("GradientSummation", "FusedMultiplyAdd", Arity::perLevel,
                  "how CUDA adds up the gradient of a dense B-spline: FusedMultiplyAdd, Kahan, Pichat "
                  "(single precision) or Double; the CPU adds in double precision");

GradientSummation readGradientSummation(const Parameters& parameters, std::size_t level)
{
  // In the order of the enumeration.
  constexpr const char* names[] = {"FusedMultiplyAdd", "Kahan", "Pichat", "Double"};
  const std::string name = parameters.get(gradientSummation, level);
  const auto found = std::ranges::find(names, name);
  if (found == std::end(names))
    parameters.fail(gradientSummation.name, "no such summation: \"" + name + "\"",
                    "Allowed: \"FusedMultiplyAdd\", \"Kahan\", \"Pichat\", \"Double\"");
  return static_cast<GradientSummation>(found - std::begin(names));
}

}

std::vector<ParameterInfo> gradientMatrixParameters()
{
  return {movingImageDerivativeScales, scaleGradientWithRespectToMovingImageOrientation};
}

template <int D>
std::optional<Matrix<D>> gradientMatrix(const Parameters& parameters, const ImageGeometry<D>& moving)
{
  std::vector<double> scales = parameters.all(movingImageDerivativeScales);
  if (scales.empty())
    return std::nullopt;
  if (scales.size() < D) {
    parameters.warn(parameters.where(movingImageDerivativeScales.name) + ": " + std::to_string(scales.size())
                    + " factors for " + std::to_string(D) + " axes: the others are 1, as in elastix.");
    scales.resize(D, 1);
  }
  Matrix<D> scaling{};
  for (int d = 0; d < D; ++d)
    scaling[d][d] = scales[d];
  if (!parameters.get(scaleGradientWithRespectToMovingImageOrientation))
    return scaling;
  return multiply<D>(moving.direction, multiply<D>(scaling, transpose<D>(moving.direction)));
}

template <int D>
ImageTerm<D>::ImageTerm(const Parameters& parameters, std::unique_ptr<Metric> metric)
    : TermOnImages<D>(parameters), parameters_(parameters), metric_(std::move(metric)),
      pairMetric_(dynamic_cast<PairMetric*>(metric_.get())),
      latticeMetric_(dynamic_cast<LatticeMetric*>(metric_.get()))
{
  for (std::size_t level = 0; level < parameters.levelCount(); ++level)
    readGradientSummation(parameters, level);
}

template <int D>
void ImageTerm<D>::prepareForLevel(Context& context, const TermLevel<D>& level)
{
  endLevel();
  level_ = level;
  const auto turned = gradientMatrix<D>(parameters_, level.moving->geometry);
  IntensityRange fixed, moving;
  if (!onlyCountsMemory(context)) {
    fixed = intensityRange<D>(context, level.fixed, level.fixedMask.get(), "fixed image");
    moving = intensityRange<D>(context, level.moving, level.movingMask.get(), "moving image");
  }
  metric_->prepareForLevel(level.level, {fixed.lowest, fixed.highest, moving.lowest, moving.highest});
  const MemoryPart part(context, "samples");
  if (context.onCuda())
    onCuda_ = std::make_unique<ImageTermOnCuda<D>>(context, level, *metric_, turned,
                                                   readGradientSummation(parameters_, level.level));
  else {
    fields_.emplace(level, DeviceKind::cpu);
    if (latticeMetric_)
      onLattice_.emplace(level, turned, *latticeMetric_);
    else {
      dense_.emplace(level, turned, *pairMetric_);
      points_.emplace(level, turned, *pairMetric_);
    }
  }
}

template <int D>
void ImageTerm<D>::endLevel()
{
  TermOnImages<D>::endLevel();
  fields_.reset();
  dense_.reset();
  points_.reset();
  onLattice_.reset();
  level_ = {};
}

template <int D>
double ImageTerm<D>::hostBytes(const TermExtent& extent) const
{
  using Warped = WarpedLattice<D>;
  constexpr double bytesAPoint = 64; // of a drawn point, with its intensities and gradient
  const double stripes = extent.goesByPoints ? stripeBytes(extent.positions, extent.parameters) : 0,
               all = static_cast<double>(extent.positions);
  if (latticeMetric_)
    return stripes + Warped::bytesOf(extent.positions, Warped::Keeps::everything, extent.hasMasks)
           + all
                 * static_cast<double>(latticeMetric_->bytesAPosition()
                                       + (extent.hasMasks ? 2 : 1) * sizeof(float));
  if (extent.isLattice && !extent.goesByPoints)
    return Warped::bytesOf(extent.positions, Warped::Keeps::slab, extent.hasMasks);
  return stripes + (extent.isLattice ? 0 : bytesAPoint * all);
}

template <int D>
TermValue ImageTerm<D>::evaluateHere(Context& context, const SampleSet<D>& samples,
                                     std::span<const double> parameters, std::span<double> gradient)
{
  if (!gradient.empty() && !level_.interpolator->hasGradient())
    failAs(ExitCode::usage, parameters_.where("Interpolator"),
           "the interpolator has no gradient at order 0, and the optimizer needs one",
           "BSplineInterpolationOrder 1 to 5");
  const auto evaluateBy = [&](auto& passes, const auto& target) {
    const SampleCount count = passes.accumulate(context, target, !gradient.empty());
    this->checkValid(count.valid, count.asked);
    const TermValue result{passes.finish(context, count.valid), count.valid, count.asked};
    if (!gradient.empty())
      passes.pullBack(context, target, gradient);
    return result;
  };
  const FieldMethod<D>* const field = fields_->at(samples);
  if (onLattice_)
    return evaluateBy(*onLattice_, LatticeTarget{std::get<VoxelLattice<D>>(samples), field, parameters});
  if (field)
    return evaluateBy(*dense_, LatticeTarget{std::get<VoxelLattice<D>>(samples), field, parameters});
  return evaluateBy(*points_, PointTarget{samples, parameters});
}

std::vector<ParameterInfo> imageTermParameters()
{
  return joinedRows({ValidSampleRule::parameters(),
                     {movingImageDerivativeScales, scaleGradientWithRespectToMovingImageOrientation,
                      useMultiThreadingForMetrics, gradientSummation}});
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(gradientMatrix<D>);
TESSERA_INSTANTIATE_CLASS(ImageTerm);

}
