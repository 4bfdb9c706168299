#include "Components/Resamplers/Shared/ResamplingOnCuda.h"

#include "Components/Resamplers/Shared/LargestCoordinate.h"
#include "Components/Resamplers/Shared/RunShapes.h"
#include "Core/Registration/Interpolation/LabelMajority.h"
#include "Core/Registration/Samples/FixedPointIndex.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace tessera {
namespace {

using namespace resampling;

// Voxels; what integers and floats of kernels can hold.
constexpr double largestWhole = 0x1p29, longestShift = 0x1p12, farthestVoxel = 0x1p31;
// Of shared memory, for control points; of a tile so many that ten blocks leave first-level cache to the
// image.
constexpr double wantedBytesOfTile = 9 << 9, wantedBytesOfWarp = 5 << 10, mostBytesOfBlock = 96 << 10;

template <int D>
AffineMap<D> indexFromPoint(const PointToIndex<D>& pointToIndex)
{
  AffineMap<D> map{pointToIndex.fromOffset, {}};
  const Vec<D> shifted = apply<D>(map.matrix, pointToIndex.originMm);
  for (int d = 0; d < D; ++d)
    map.offset[d] = -shifted[d];
  return map;
}

/// Runs ask for what they read some voxels later.
template <int D>
void lookAhead(LatticeToResample<D>& r, const AffineMap<D>& index)
{
  constexpr double fewRows =
      4; // of the image: where the lanes of a warp read many, asking costs more than it brings
  if (rowsCrossed<D>(index, 32) > fewRows)
    return;
  for (int d = 0; d < D; ++d) // rounded towards zero, so that it lies between the two voxels
    r.voxelsAhead += static_cast<int>(numbersAhead * index.matrix[d][D - 1]) * static_cast<int>(r.steps[d]);
}

template <int D>
IndexMap<D> indexMapOf(const AffineMap<D>& map, double plus, const RunShape& shape)
{
  const Vec<D> reach = reachOfRun<D>(map, shape);
  IndexMap<D> made;
  for (int d = 0; d < D; ++d) {
    made.offset[d] = map.offset[d] + plus;
    std::copy_n(map.matrix[d].begin(), D, made.matrix[d]);
    for (int e = 0; e < D; ++e)
      made.step[d][e] = static_cast<float>(map.matrix[d][e]);
    made.reach[d] = static_cast<float>(reach[d] + 1.0 / 256); // more than roundings
  }
  return made;
}

/// By which indices may be off: by roundings to single precision within a run.
template <int D>
double marginOfIndices(const AffineMap<D>& map, const RunShape& shape)
{
  return 0x1p-21 * (1 + farthest<D>(reachOfRun<D>(map, shape)));
}

template <int D>
bool isIdentity(const Matrix<D>& matrix)
{
  return matrix == identityMatrix<D>();
}

/// Control points that carry `voxels` consecutive voxels of an axis at most.
int mostPointsOf(const FieldAxis& axis, int voxels)
{
  return std::min(static_cast<int>((voxels - 1) * axis.step) + 5, axis.points);
}

/// Their weights times `scale`.
void appendAxis(std::vector<SplineVoxel>& voxels, const FieldAxis& axis, double scale)
{
  const std::size_t begin = voxels.size();
  for (int v = 0; v < axis.voxels; ++v) {
    const AxisSupport support = supportOf(axis, v, 3);
    SplineVoxel voxel{};
    double weights[4];
    axisWeights<3>(support, weights);
    std::transform(weights, weights + 4, voxel.weights,
                   [&](double weight) { return static_cast<float>(scale * weight); });
    voxel.first = support.start;
    voxel.past = static_cast<float>((support.distance - firstKnotOffset<3>()) / axis.step);
    voxel.inside = support.inside;
    voxels.push_back(voxel);
  }
  int end = axis.voxels;
  for (std::size_t v = voxels.size(); v-- > begin;) {
    if (v + 1 < voxels.size()
        && (voxels[v + 1].first != voxels[v].first || voxels[v + 1].inside != voxels[v].inside))
      end = static_cast<int>(v + 1 - begin);
    voxels[v].end = end;
  }
}

/// Of a B-spline's parameters, which are planar.
template <int D>
std::vector<SplinePoint> displacementsOf(const std::vector<double>& parameters)
{
  std::vector<SplinePoint> points(parameters.size() / D, SplinePoint{});
  for (std::size_t p = 0; p < parameters.size(); ++p)
    points[p % points.size()].mm[p / points.size()] = static_cast<float>(parameters[p]);
  return points;
}

/// The B-spline's field in the voxels of the lattice, where asked(x) of them, too, lies along the grid's
/// axes.
template <int D>
std::optional<AlignedField<D>> fieldInTiles(const OneSplineChain<D>& chain, ImageGeometry<D> lattice)
{
  if (!isIdentity<D>(chain.asked.matrix))
    return {};
  lattice.originMm = chain.asked(lattice.originMm);
  std::optional<AlignedField<D>> field = chain.spline->transform->alignedField(lattice);
  for (int d = 0; field && d < D;
       ++d) // a step of a cell at most, as the march takes a line of control points at a time
    if (!(field->axes[d].step <= 1) || field->axes[d].points <= field->order)
      field.reset();
  return field;
}

}

template <int D>
MovingToResample<D>::MovingToResample(const Context& context, const ResampleSource<D>& source,
                                      Extrapolation rule, float outside)
    : image(source.interpolator->onCuda()),
      pointFromIndex(source.interpolator->imageGeometry().pointFromIndex()), extrapolation(rule),
      outsideValue(outside), inSlices(source.inSlices)
{
  if (!source.valid)
    return;
  validVoxels_ = voxelsOnCuda<D>(context, source.valid);
  valid = MaskOnCuda<D>(*source.valid, *validVoxels_);
}

template <int D>
ResamplingOnCuda<D>::ResamplingOnCuda(Context& context, const TransformChain<D>& chain,
                                      const ImageGeometry<D>& lattice)
    : lattice_(lattice), held_(std::make_shared<HeldChainOnCuda<D>>(context, chain)),
      oneSpline_(asOneSpline<D>(chain))
{
  if (chain.transform->cudaForm() == CudaForm::linear) {
    chain_ = held_->at(context, chain.parameters);
  } else {
    parameters_.fromHost(context, chain.parameters);
    chain_ = held_->at(context, std::as_const(parameters_).span());
  }
  if (oneSpline_ && oneSpline_->spline)
    holdSpline(context);
}

template <int D>
void ResamplingOnCuda<D>::holdSpline(Context& context)
{
  const TransformChain<D>& link = *oneSpline_->spline;
  const TransformOnCuda<D> model = link.transform->onCuda(link.parameters);
  const AffineMap<D> gridIndex =
      compose(indexFromPoint<D>(model.pointToIndex), compose(oneSpline_->asked, lattice_.pointFromIndex()));
  for (const double value : link.parameters)
    largestMm_ = std::max(largestMm_, value == value ? std::abs(value) : HUGE_VAL);
  if (model.order != 3 || model.cyclic || !(largestCoordinate<D>(gridIndex, lattice_.size) < largestWhole)) {
    oneSpline_.reset();
    return;
  }
  spline_.points = model.points;
  if (const auto field = fieldInTiles<D>(*oneSpline_, lattice_))
    return holdTiles(context, *field);
  coefficients_.fromHost(context, std::vector<float>(link.parameters.begin(), link.parameters.end()));
  spline_.coefficients = std::as_const(coefficients_).span().data();
  shapeOfSpline_ = withEnoughWarps<D>({5, 5, warpsOfSplineBlock}, lattice_.size);
  const auto bytes = [&] { return bytesOfBlock<D>(reachOfBlock<D>(gridIndex, shapeOfSpline_)); };
  while (bytes() > wantedBytesOfWarp * warpsOfSplineBlock && shapeOfSpline_.bitsOfVoxels > fewestBits)
    --shapeOfSpline_.bitsOfVoxels;
  if (!(bytes() <= mostBytesOfBlock)) {
    oneSpline_.reset();
    return;
  }
  spline_.gridIndex = indexMapOf<D>(gridIndex, -firstKnotOffset<3>(), shapeOfSpline_);
  spline_.gridMargin = static_cast<float>(marginOfIndices<D>(gridIndex, shapeOfSpline_));
  std::copy_n(reachOfBlock<D>(gridIndex, shapeOfSpline_).begin(), D, spline_.reachOfBlock);
  spline_.bytesOfBlock = static_cast<std::size_t>(bytes());
}

template <int D>
void ResamplingOnCuda<D>::holdTiles(Context& context, const AlignedField<D>& field)
{
  displacements_.fromHost(context, displacementsOf<D>(oneSpline_->spline->parameters));
  spline_.displacements = std::as_const(displacements_).span().data();
  std::vector<SplineVoxel> voxels;
  std::array<std::size_t, D> begins{};
  for (int d = 0; d < D; ++d) {
    begins[d] = voxels.size();
    appendAxis(voxels, field.axes[d], d == 0 ? 1.0 / 6 : 1);
  }
  splineVoxels_.fromHost(context, voxels);
  for (int d = 0; d < D; ++d)
    spline_.voxels[d] = std::as_const(splineVoxels_).span().data() + begins[d];
  const double step = field.axes[D - 1].step, powers[3] = {3 * step, 3 * step * step, step * step * step};
  std::copy_n(powers, 3, spline_.powersOfStep);
  spline_.mostPoints = {mostPointsOf(field.axes[0], 32), 0};
  shapeOfSpline_ = withEnoughWarps<D>({5, 5}, lattice_.size);
  const auto bytes = [&] {
    spline_.mostPoints[1] = mostPointsOf(field.axes[D - 1], shapeOfSpline_.voxelsALane());
    return static_cast<double>(bytesOfTile<D>(spline_));
  };
  while (bytes() > wantedBytesOfTile && shapeOfSpline_.bitsOfVoxels > fewestBits)
    --shapeOfSpline_.bitsOfVoxels;
}

template <int D>
double ResamplingOnCuda<D>::deviceBytes(const TransformChain<D>& chain)
{
  double bytes = HeldChainOnCuda<D>::deviceBytes(chain);
  if (chain.transform->cudaForm() != CudaForm::linear)
    bytes += static_cast<double>(chain.parameters.size()) * sizeof(double);
  if (const auto oneSpline = asOneSpline<D>(chain); oneSpline && oneSpline->spline)
    bytes += static_cast<double>(oneSpline->spline->parameters.size() / D) * sizeof(SplinePoint);
  return bytes;
}

template <int D>
typename ResamplingOnCuda<D>::Work ResamplingOnCuda<D>::workFor(const MovingToResample<D>& moving) const
{
  Work work;
  LatticeToResample<D>& r = work.lattice;
  for (int d = 0; d < D; ++d)
    r.size[d] = static_cast<int>(lattice_.size[d]);
  r.pointFromIndex = lattice_.pointFromIndex();
  r.chain = chain_;
  r.image = moving.image;
  r.valid = moving.valid;
  r.pointFromImageIndex = moving.pointFromIndex;
  r.extrapolation = moving.extrapolation;
  r.outside = moving.outsideValue;
  r.hasAllSlices = !moving.inSlices;
  const PointToIndex<D>& toIndex = moving.image.pointToIndex;
  r.validHasImagesGrid = moving.valid.size == moving.image.size
                         && moving.valid.pointToIndex.fromOffset == toIndex.fromOffset
                         && moving.valid.pointToIndex.originMm == toIndex.originMm;
  if (!oneSpline_)
    return work;

  const AffineMap<D> index =
      compose(indexFromPoint<D>(toIndex), compose(oneSpline_->linear, r.pointFromIndex));
  const Matrix<D> fromDisplacement = multiply<D>(toIndex.fromOffset, oneSpline_->turn);
  double longest = 0; // of what a millimetre along each axis comes to, voxels
  for (int d = 0; d < D; ++d) {
    double row = 0;
    for (int e = 0; e < D; ++e)
      row += std::abs(fromDisplacement[d][e]);
    longest = std::max(longest, row);
  }
  const bool hasSpline = oneSpline_->spline != nullptr;
  const double shift = hasSpline ? longest * largestMm_ : 0;
  double imageVoxels = 1, steps = 0;
  for (int d = 0; d < D; ++d) {
    steps += imageVoxels;
    imageVoxels *= moving.image.size[d];
  }
  const bool inTiles = hasSpline && splineVoxels_.size() > 0;
  work.shape = hasSpline ? shapeOfSpline_ : shapeForLinear<D>(index, lattice_.size, moving.image.order);
  const double reach = farthest<D>(reachOfRun<D>(index, work.shape));
  constexpr int mostKnots = 8; // of an axis, and roundings
  if (!(largestCoordinate<D>(index, lattice_.size) < largestWhole) || !(shift < longestShift)
      || !(imageVoxels < 0x1p32) || !(reach <= farthestOfRun)
      || !((reach + shift + mostKnots) * steps < farthestVoxel))
    return work;
  double margin = marginOfIndices<D>(index, work.shape) + 0x1p-19 * shift; // 32 roundings
  if (moving.image.order == 0
      && !moving.image.nearestInDouble) // of indices that are rounded to single precision
    margin +=
        0x1p-23 * static_cast<double>(*std::max_element(moving.image.size.begin(), moving.image.size.end()));
  r.margin = static_cast<float>(margin);
  // the cell of an even order begins half a voxel before its middle knot, and any Order / 2 knots before that
  const int order = moving.image.order == orderOfLabels ? 1 : moving.image.order;
  const double toFirstKnot = (order % 2 == 0 ? 0.5 : 0.0) - order / 2;
  // what is extrapolated begins at the border voxels' centres, else half a voxel further
  r.plainDepth = moving.extrapolation == Extrapolation::constant || order == 0
                     ? r.margin - 0.5f * static_cast<float>(order)
                     : 0;
  r.hasPlainValues = moving.image.order != orderOfLabels && moving.valid.voxels == nullptr;
  unsigned step = 1;
  for (int d = 0; d < D; ++d) {
    r.innerCells[d] = static_cast<unsigned>(std::max(moving.image.size[d] - order, 0));
    r.hasPlainValues = r.hasPlainValues && moving.image.size[d] > order;
    r.steps[d] = step;
    r.stepsOfWholeNumbers += step * bitsOfWholeNumbers;
    step *= static_cast<unsigned>(moving.image.size[d]);
  }
  work.index = indexMapOf<D>(index, toFirstKnot, work.shape);
  if (inTiles)
    lookAhead<D>(r, index);
  work.way = !hasSpline ? Way::linear : inTiles ? Way::tiles : Way::spline;
  work.spline = spline_;
  for (int d = 0; d < D; ++d)
    for (int e = 0; e < D; ++e)
      work.spline.indexFromDisplacement[d][e] = static_cast<float>(fromDisplacement[d][e]);
  return work;
}

template <int D>
const char* ResamplingOnCuda<D>::method(const MovingToResample<D>& moving) const
{
  switch (workFor(moving).way) {
  case Way::linear:
    return "one linear map";
  case Way::tiles:
    return "tiles of a B-spline";
  case Way::spline:
    return "a B-spline at each voxel";
  default:
    return "points in double precision";
  }
}

template <int D>
void ResamplingOnCuda<D>::resample(Context& context, const MovingToResample<D>& moving, std::size_t first,
                                   std::size_t count, float* voxels) const
{
  Work work = workFor(moving);
  work.lattice.firstSlice = static_cast<int>(first);
  work.lattice.endSlice = static_cast<int>(first + count);
  work.lattice.voxels = voxels;
  if (work.way == Way::points)
    return resampleByPoints<D>(context, work.lattice);
  Buffer<unsigned> unsure(context, wordsOfMarks<D>(work.lattice));
  context.stream->fill(unsure.span().data(), 0, unsure.span().size_bytes());
  work.lattice.unsure = unsure.span().data();
  if (work.way == Way::linear)
    resampleLinearly<D>(context, work.lattice, work.index, work.shape);
  else if (work.way == Way::tiles)
    resampleByTiles<D>(context, work.lattice, work.index, work.spline, work.shape);
  else
    resampleBySpline<D>(context, work.lattice, work.index, work.spline, work.shape);
  resampleUnsureVoxels<D>(context, work.lattice);
}

template struct MovingToResample<2>;
template struct MovingToResample<3>;
template class ResamplingOnCuda<2>;
template class ResamplingOnCuda<3>;

}
