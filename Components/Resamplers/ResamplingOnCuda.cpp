#include "Components/Resamplers/ResamplingOnCuda.h"

#include "Core/Registration/FixedPointIndex.h"
#include "Core/Registration/LabelMajority.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera {
namespace {

constexpr double largestWhole = 0x1p29, longestShift = 0x1p20; // voxels; what integers and the rounding of shifts can hold

template <int D>
AffineMap<D> indexFromPoint(const PointToIndex<D>& pointToIndex)
{
  AffineMap<D> map{pointToIndex.fromOffset, {}};
  const Vec<D> shifted = apply<D>(map.matrix, pointToIndex.originMm);
  for (int d = 0; d < D; ++d)
    map.offset[d] = -shifted[d];
  return map;
}

template <int D>
FixedPointMap<D> fixedPoint(const AffineMap<D>& map, double plus, long long less = 0)
{
  FixedPointMap<D> fixed;
  for (int d = 0; d < D; ++d) {
    fixed.start[d] = std::llrint((map.offset[d] + plus) * 4294967296.0) - (less << 32);
    for (int e = 0; e < D; ++e)
      fixed.step[d][e] = std::llrint(map.matrix[d][e] * 4294967296.0);
  }
  return fixed;
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

/// By which fixed-point indices may be off: of the last voxel, by roundings of steps; and by fractions in single precision.
template <int D>
double fixedPointMargin(const Size<D>& size)
{
  double voxels = 1;
  for (int d = 0; d < D; ++d)
    voxels += static_cast<double>(size[d]);
  return 0x1p-20 + 0x1p-33 * voxels;
}

template <int D>
bool isIdentity(const Matrix<D>& matrix)
{
  return matrix == identityMatrix<D>();
}

/// The B-spline's field in the voxels of the lattice, where asked(x) of them, too, lies along the grid's axes.
template <int D>
std::optional<AlignedField<D>> fieldInTiles(const OneSplineChain<D>& chain, ImageGeometry<D> lattice)
{
  if (!isIdentity<D>(chain.asked.matrix))
    return {};
  lattice.originMm = chain.asked(lattice.originMm);
  std::optional<AlignedField<D>> field = chain.spline->transform->alignedField(lattice);
  for (int d = 0; field && d < D; ++d)
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
  spline_.gridIndex = fixedPoint<D>(gridIndex, -firstKnotOffset<3>());
  spline_.gridMargin = static_cast<float>(fixedPointMargin<D>(lattice_.size));
  field_ = fieldInTiles<D>(*oneSpline_, lattice_);
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
  double imageVoxels = 1;
  for (const int extent : moving.image.size)
    imageVoxels *= extent;
  if (!(largestIndex<D>(index, lattice_.size) < largestWhole) || !(shift < longestShift) || !(imageVoxels < 0x1p32))
    return work;
  double margin = fixedPointMargin<D>(lattice_.size) + 0x1p-19 * shift; // 32 roundings
  if (moving.image.order == 0 && !moving.image.nearestInDouble)         // of indices that are rounded to single precision
    margin += 0x1p-23 * static_cast<double>(*std::max_element(moving.image.size.begin(), moving.image.size.end()));
  r.margin = static_cast<float>(margin);
  // the cell of an even order begins half a voxel before its middle knot, and any Order / 2 knots before that
  const int order = moving.image.order == orderOfLabels ? 1 : moving.image.order;
  const double toFirstKnot = (order % 2 == 0 ? 0.5 : 0.0) - order / 2;
  for (int d = 0; d < D; ++d)
    r.innerCells[d] = static_cast<unsigned>(std::max(moving.image.size[d] - order, 0));
  work.index = fixedPoint<D>(index, toFirstKnot, hasSpline ? bitsOfWholeNumbers : 0);
  work.way = !hasSpline ? Way::linear : field_ ? Way::tiles : Way::spline;
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
    resampleLinearly<D>(context, work.lattice, work.index);
  else if (work.way == Way::tiles)
    resampleByTiles<D>(context, work.lattice, work.index, work.spline, *field_);
  else
    resampleBySpline<D>(context, work.lattice, work.index, work.spline);
  resampleUnsureVoxels<D>(context, work.lattice);
}

template struct MovingToResample<2>;
template struct MovingToResample<3>;
template class ResamplingOnCuda<2>;
template class ResamplingOnCuda<3>;

}
