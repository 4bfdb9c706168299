#include "Components/Resamplers/ResamplingOnCuda.h"

#include "Core/Registration/FixedPointIndex.h"
#include "Core/Registration/LabelMajority.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

namespace tessera {
namespace {

constexpr double largestWhole = 0x1p29, longestShift = 0x1p12;               // voxels; what integers and floats of kernels can hold
constexpr double farthestOfRun = 128, largestPlane = 0x1p29;                 // voxels
constexpr double wantedBytesOfBlock = 40 << 10, mostBytesOfBlock = 96 << 10; // of shared memory, for control points
constexpr int fewestRows = 4;

template <int D>
AffineMap<D> indexFromPoint(const PointToIndex<D>& pointToIndex)
{
  AffineMap<D> map{pointToIndex.fromOffset, {}};
  const Vec<D> shifted = apply<D>(map.matrix, pointToIndex.originMm);
  for (int d = 0; d < D; ++d)
    map.offset[d] = -shifted[d];
  return map;
}

/// The largest magnitude of any index that voxels of a lattice are mapped to; NaN if one is not a number.
template <int D>
double largestIndex(const AffineMap<D>& map, const Size<D>& size)
{
  double largest = 0;
  for (int d = 0; d < D; ++d) {
    double sum = std::abs(map.offset[d]);
    for (int e = 0; e < D; ++e)
      sum += std::abs(map.matrix[d][e]) * static_cast<double>(size[e]);
    largest = sum > largest || !(sum == sum) ? sum : largest;
  }
  return largest;
}

/// How far along each index axis a run's voxels are from its middle at most.
template <int D>
Vec<D> reachOfRun(const AffineMap<D>& map, const RunShape& shape)
{
  const int lanesX = 1 << shape.bitsOfLanesX, rows = 32 / lanesX * shape.rowsALane;
  Vec<D> reach;
  for (int d = 0; d < D; ++d)
    reach[d] = 0.5 * (lanesX * std::abs(map.matrix[d][0]) + rows * std::abs(map.matrix[d][1]));
  return reach;
}

template <int D>
double farthest(const Vec<D>& reach)
{
  return *std::max_element(reach.begin(), reach.end());
}

template <int D>
IndexMap<D> indexMapOf(const AffineMap<D>& map, double plus, const RunShape& shape)
{
  const Vec<D> reach = reachOfRun<D>(map, shape);
  IndexMap<D> made;
  for (int d = 0; d < D; ++d) {
    made.offset[d] = map.offset[d] + plus;
    std::copy_n(map.matrix[d].begin(), D, made.matrix[d]);
    for (int e = 0; e < 2; ++e)
      made.step[d][e] = static_cast<float>(map.matrix[d][e]);
    made.reach[d] = static_cast<float>(reach[d] + 1.0 / 256); // more than roundings
  }
  return made;
}

/// Rows of the moving image that `lanesX` lanes along x, and the others along y, are spread over.
template <int D>
double rowsCrossed(const AffineMap<D>& map, int lanesX)
{
  double rows = 0;
  for (int d = 1; d < D; ++d)
    rows += (lanesX - 1) * std::abs(map.matrix[d][0]) + (32 / lanesX - 1) * std::abs(map.matrix[d][1]);
  return rows;
}

/// Fewer rows where too few warps would have work.
template <int D>
RunShape withEnoughWarps(RunShape shape, const Size<D>& size)
{
  constexpr double enoughWarps = 1 << 14;
  double voxels = 1;
  for (const std::size_t extent : size)
    voxels *= static_cast<double>(extent);
  while (shape.rowsALane > fewestRows && voxels < enoughWarps * 32 * shape.rowsALane)
    shape.rowsALane /= 2;
  return shape;
}

/// Lanes along x, unless they would cross many rows of the moving image: then 8 of them, on 4 rows. Fewer rows where indices would
/// need too many bits.
template <int D>
RunShape shapeForLinear(const AffineMap<D>& map, const Size<D>& size)
{
  constexpr RunShape lines{5, 16}, patches{3, 8};
  RunShape shape = withEnoughWarps<D>(rowsCrossed<D>(map, 32) > rowsCrossed<D>(map, 8) ? patches : lines, size);
  while (shape.rowsALane > fewestRows && farthest<D>(reachOfRun<D>(map, shape)) > farthestOfRun)
    shape.rowsALane /= 2;
  return shape;
}

/// How far along each index axis a block's voxels are from its middle at most, and a little more.
template <int D>
Vec<D> reachOfBlock(const AffineMap<D>& map, const RunShape& shape)
{
  const double half[3] = {16, 0.5 * shape.rowsALane * (D == 3 ? 1 : warpsOfBlock), 0.5 * warpsOfBlock};
  Vec<D> reach;
  reach.fill(1.0 / 256);
  for (int d = 0; d < D; ++d)
    for (int e = 0; e < D; ++e)
      reach[d] += std::abs(map.matrix[d][e]) * half[e];
  return reach;
}

/// Control points that a block's voxels may need, each with its neighbours along x, in shared memory.
template <int D>
double bytesOfBlock(const Vec<D>& reach)
{
  double bytes = 16 * D;
  for (int d = 0; d < D; ++d)
    bytes *= std::floor(2 * reach[d]) + 2 + (d == 0 ? 0 : 3);
  return bytes;
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

void appendAxis(std::vector<SplineVoxel>& voxels, const FieldAxis& axis)
{
  const std::size_t begin = voxels.size();
  for (int v = 0; v < axis.voxels; ++v) {
    const AxisSupport support = supportOf(axis, v, 3);
    SplineVoxel voxel{};
    axisWeights<3>(support, voxel.weights);
    voxel.first = support.start;
    voxel.fraction = static_cast<float>(support.distance - firstKnotOffset<3>());
    voxel.inside = support.inside;
    voxels.push_back(voxel);
  }
  int end = axis.voxels;
  for (std::size_t v = voxels.size(); v-- > begin;) {
    if (v + 1 < voxels.size() && (voxels[v + 1].first != voxels[v].first || voxels[v + 1].inside != voxels[v].inside))
      end = static_cast<int>(v + 1 - begin);
    voxels[v].end = end;
  }
}

/// The B-spline's field in the voxels of the lattice, where asked(x) of them, too, lies along the grid's axes.
template <int D>
std::optional<AlignedField<D>> fieldInTiles(const OneSplineChain<D>& chain, ImageGeometry<D> lattice)
{
  if (!isIdentity<D>(chain.asked.matrix))
    return {};
  lattice.originMm = chain.asked(lattice.originMm);
  std::optional<AlignedField<D>> field = chain.spline->transform->alignedField(lattice);
  for (int d = 0; field && d < D; ++d) // a step of a cell at most, as the march takes a line of control points at a time
    if (!(field->axes[d].step <= 1) || field->axes[d].points <= field->order)
      field.reset();
  return field;
}

}

template <int D>
MovingToResample<D>::MovingToResample(const Context& context, const ResampleSource<D>& source, Extrapolation rule, float outside)
    : image(source.interpolator->onCuda()), pointFromIndex(source.interpolator->imageGeometry().pointFromIndex()),
      extrapolation(rule), outsideValue(outside), inLayers(source.inLayers)
{
  if (!source.valid)
    return;
  validVoxels_ = voxelsOnCuda<D>(context, source.valid);
  valid = MaskOnCuda<D>(*source.valid, *validVoxels_);
}

template <int D>
ResamplingOnCuda<D>::ResamplingOnCuda(Context& context, const TransformChain<D>& chain, const ImageGeometry<D>& lattice)
    : lattice_(lattice), held_(std::make_shared<HeldChainOnCuda<D>>(context, chain)), oneSpline_(asOneSpline<D>(chain))
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
  if (model.order != 3 || model.cyclic || !(largestIndex<D>(gridIndex, lattice_.size) < largestWhole)) {
    oneSpline_.reset();
    return;
  }
  coefficients_.fromHost(context, std::vector<float>(link.parameters.begin(), link.parameters.end()));
  spline_.points = model.points;
  spline_.coefficients = std::as_const(coefficients_).span().data();
  if (const auto field = fieldInTiles<D>(*oneSpline_, lattice_))
    return holdTiles(context, *field);
  shapeOfSpline_ = withEnoughWarps<D>({}, lattice_.size);
  const auto bytes = [&] { return bytesOfBlock<D>(reachOfBlock<D>(gridIndex, shapeOfSpline_)); };
  while (bytes() > wantedBytesOfBlock && shapeOfSpline_.rowsALane > fewestRows)
    shapeOfSpline_.rowsALane /= 2;
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
  std::vector<SplineVoxel> voxels;
  std::array<std::size_t, D> begins{};
  for (int d = 0; d < D; ++d) {
    begins[d] = voxels.size();
    appendAxis(voxels, field.axes[d]);
  }
  splineVoxels_.fromHost(context, voxels);
  for (int d = 0; d < D; ++d)
    spline_.voxels[d] = std::as_const(splineVoxels_).span().data() + begins[d];
  spline_.stepOfRow = static_cast<float>(field.axes[1].step);
  spline_.mostPoints = {mostPointsOf(field.axes[0], 32), 0};
  shapeOfSpline_ = withEnoughWarps<D>({}, lattice_.size);
  const auto bytes = [&] {
    spline_.mostPoints[1] = mostPointsOf(field.axes[1], shapeOfSpline_.rowsALane);
    return warpsOfBlock * spline_.mostPoints[0] * spline_.mostPoints[1] * 16;
  };
  while (bytes() > wantedBytesOfBlock && shapeOfSpline_.rowsALane > fewestRows)
    shapeOfSpline_.rowsALane /= 2;
}

template <int D>
double ResamplingOnCuda<D>::deviceBytes(const TransformChain<D>& chain)
{
  double bytes = HeldChainOnCuda<D>::deviceBytes(chain);
  if (chain.transform->cudaForm() != CudaForm::linear)
    bytes += static_cast<double>(chain.parameters.size()) * sizeof(double);
  if (const auto oneSpline = asOneSpline<D>(chain); oneSpline && oneSpline->spline)
    bytes += static_cast<double>(oneSpline->spline->parameters.size()) * sizeof(float);
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
  const PointToIndex<D>& toIndex = moving.image.pointToIndex;
  r.validHasImagesGrid = moving.valid.size == moving.image.size && moving.valid.pointToIndex.fromOffset == toIndex.fromOffset
                         && moving.valid.pointToIndex.originMm == toIndex.originMm;
  if (!oneSpline_)
    return work;

  const AffineMap<D> index = compose(indexFromPoint<D>(toIndex), compose(oneSpline_->linear, r.pointFromIndex));
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
  double imageVoxels = 1, planeVoxels = 1;
  for (int d = 0; d < D; ++d) {
    planeVoxels = imageVoxels;
    imageVoxels *= moving.image.size[d];
  }
  const bool inTiles = hasSpline && splineVoxels_.size() > 0;
  work.shape = hasSpline ? shapeOfSpline_ : shapeForLinear<D>(index, lattice_.size);
  if (!(largestIndex<D>(index, lattice_.size) < largestWhole) || !(shift < longestShift) || !(imageVoxels < 0x1p32)
      || !(planeVoxels < largestPlane) || !(farthest<D>(reachOfRun<D>(index, work.shape)) <= farthestOfRun))
    return work;
  double margin = marginOfIndices<D>(index, work.shape) + 0x1p-19 * shift; // 32 roundings
  if (moving.image.order == 0 && !moving.image.nearestInDouble)            // of indices that are rounded to single precision
    margin += 0x1p-23 * static_cast<double>(*std::max_element(moving.image.size.begin(), moving.image.size.end()));
  r.margin = static_cast<float>(margin);
  // the cell of an even order begins half a voxel before its middle knot, and any Order / 2 knots before that
  const int order = moving.image.order == orderOfLabels ? 1 : moving.image.order;
  const double toFirstKnot = (order % 2 == 0 ? 0.5 : 0.0) - order / 2;
  // what is extrapolated begins at the border voxels' centres, else half a voxel further
  r.plainDepth = moving.extrapolation == Extrapolation::constant || order == 0 ? r.margin - 0.5f * static_cast<float>(order) : 0;
  r.hasPlainValues = moving.image.order != orderOfLabels && moving.valid.voxels == nullptr;
  int bytes = sizeof(float);
  std::ptrdiff_t bytesOfWholeNumbers = 0;
  for (int d = 0; d < D; ++d) {
    r.innerCells[d] = static_cast<unsigned>(std::max(moving.image.size[d] - order, 0));
    r.hasPlainValues = r.hasPlainValues && moving.image.size[d] > order;
    r.bytesOfStep[d] = bytes;
    bytesOfWholeNumbers += static_cast<std::ptrdiff_t>(bytes) * bitsOfWholeNumbers;
    bytes *= d + 1 < D ? moving.image.size[d] : 1;
  }
  r.lessWholeNumbers = reinterpret_cast<std::uintptr_t>(moving.image.coefficients) - bytesOfWholeNumbers;
  work.index = indexMapOf<D>(index, toFirstKnot, work.shape);
  constexpr int lanesOfLines = 5;
  if (order > 1 && work.shape.bitsOfLanesX == lanesOfLines && (!hasSpline || inTiles))
    work.shape.bitsOfWarpsX = 2; // wide blocks read fewer lines of the cache twice, of which those orders read the most
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
void ResamplingOnCuda<D>::resample(Context& context, const MovingToResample<D>& moving, std::size_t first, std::size_t count,
                                   float* voxels) const
{
  Work work = workFor(moving);
  work.lattice.firstLayer = static_cast<int>(first);
  work.lattice.endLayer = static_cast<int>(first + count);
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
