#include "Components/Resamplers/Shared/ResamplingOnCuda.h"

#include "Components/Resamplers/Shared/LargestCoordinate.h"
#include "Components/Resamplers/Shared/RunShapes.h"
#include "Components/Transforms/BSplineTransform.h"
#include "Components/Transforms/Shared/OnCuda/SplineFieldOnCuda.h"
#include "Components/Transforms/SplineKernelTransform.h"
#include "Components/Transforms/WeightedCombinationTransform.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Image/Slices/ImageSlices.h"
#include "Core/Registration/Interpolation/LabelMajority.h"
#include "Core/Registration/Samples/FixedPointIndex.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera {
namespace {

using namespace resampling;

// Limits in voxels of the integers and floats of the kernels.
constexpr double largestWhole = 0x1p29, longestShift = 0x1p12, farthestVoxel = 0x1p31;
constexpr std::size_t voxelsOfField = std::size_t(1) << 22; // whose displacements are in memory at once
// Shared memory for control points.
constexpr double wantedBytesOfWarp = 5 << 10, maxBytesOfBlock = 96 << 10;

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

/// The number of slices whose displacements are in memory at once.
template <int D>
std::size_t slicesOfField(const ImageGeometry<D>& lattice)
{
  return std::clamp<std::size_t>(voxelsOfField / voxelsOfSlice(lattice), 1, lattice.size[D - 1]);
}

/// Bound of the error of indices from rounding to single precision within a run, in voxels.
template <int D>
double marginOfIndices(const AffineMap<D>& map, const RunShape& shape)
{
  return 0x1p-21 * (1 + farthest<D>(reachOfRun<D>(map, shape)));
}

}

template <int D>
ResamplingOnCuda<D>::ResamplingOnCuda(Context& context, const TransformChain<D>& chain,
                                      const ImageGeometry<D>& lattice)
    : lattice_(lattice), oneSpline_(asOneSpline<D>(chain))
{
  const MemoryPart part(context, "transforms");
  if (const InverseTransform<D>* inverse = asInverse(chain)) {
    inverse_ = std::make_unique<InverseOnCuda<D>>(context, *inverse, lattice);
    return;
  }
  if (const auto* last = dynamic_cast<const WeightedCombinationTransform<D>*>(chain.transform.get())) {
    heldCombination_.emplace(context, chain, *last);
    weights_.fromHost(context, chain.parameters);
    combination_ = heldCombination_->at(context, std::as_const(weights_).span());
    return;
  }
  held_ = std::make_unique<HeldChainOnCuda<D>>(HeldChainOnCuda<D>::constant(context, chain));
  chain_ = held_->before();
  if (oneSpline_ && oneSpline_->spline)
    holdSpline(context);
  if constexpr (D == 3)
    planLandmarks(chain, onlyCountsMemory(context));
}

/// Looks for the link that a field can replace: a spline of many landmarks behind linear transforms.
template <int D>
void ResamplingOnCuda<D>::planLandmarks(const TransformChain<D>& chain, bool counts)
{
  if constexpr (D == 3) {
    int after = 0; // links behind it
    for (const TransformChain<D>* link = &chain; link; link = link->initial.get(), ++after) {
      const auto* spline = dynamic_cast<const SplineKernelTransform<D>*>(link->transform.get());
      const bool isAtPoints = !link->initial || link->combination == Combination::compose;
      const auto before = link->initial ? asOneSpline<D>(*link->initial) : OneSplineChain<D>{};
      if (!spline || !isAtPoints || !before || before->spline
          || static_cast<double>(lattice_.voxelCount()) * static_cast<double>(spline->parameterCount())
                 < fewestPairsOfField * D)
        continue;
      const AffineMap<D> toLink =
          link->initial ? compose(before->linear, lattice_.pointFromIndex()) : lattice_.pointFromIndex();
      if (counts)
        landmarks_.emplace(); // it may need the memory
      else if (const auto plan = planSplineField(spline->splineAt(link->parameters), toLink, lattice_.size))
        landmarks_ = LandmarkField{*plan, chain_.count - 1 - after};
      return;
    }
  }
}

template <int D>
void ResamplingOnCuda<D>::holdSpline(Context& context)
{
  const TransformChain<D>& link = *oneSpline_->spline;
  const auto& grid = static_cast<const BSplineTransform<D>&>(*link.transform).grid();
  const AffineMap<D> gridIndex = compose(indexFromPoint<D>(grid.points.pointToIndex()),
                                         compose(oneSpline_->toSpline, lattice_.pointFromIndex()));
  for (const double value : link.parameters)
    largestMm_ = std::max(largestMm_, value == value ? std::abs(value) : HUGE_VAL);
  if (grid.order != 3 || grid.cyclic || !(largestCoordinate<D>(gridIndex, lattice_.size) < largestWhole)) {
    oneSpline_.reset();
    return;
  }
  std::ranges::copy(grid.points.size, spline_.points.begin());
  coefficients_.fromHost(context, std::vector<float>(link.parameters.begin(), link.parameters.end()));
  spline_.coefficients = std::as_const(coefficients_).span().data();
  shapeOfSpline_ = withEnoughWarps<D>({5, 5, warpsOfSplineBlock}, lattice_.size);
  const auto bytes = [&] { return bytesOfBlock<D>(reachOfBlock<D>(gridIndex, shapeOfSpline_)); };
  while (bytes() > wantedBytesOfWarp * warpsOfSplineBlock && shapeOfSpline_.bitsOfVoxels > fewestBits)
    --shapeOfSpline_.bitsOfVoxels;
  if (!(bytes() <= maxBytesOfBlock)) {
    oneSpline_.reset();
    return;
  }
  spline_.gridIndex = indexMapOf<D>(gridIndex, -firstKnotOffset<3>(), shapeOfSpline_);
  spline_.gridMargin = static_cast<float>(marginOfIndices<D>(gridIndex, shapeOfSpline_));
  std::copy_n(reachOfBlock<D>(gridIndex, shapeOfSpline_).begin(), D, spline_.reachOfBlock);
  spline_.bytesOfBlock = static_cast<std::size_t>(bytes());
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
  r.validHasImagesGrid = moving.valid.size == moving.image.size
                         && moving.valid.pointToIndex.fromOffset == toIndex.fromOffset
                         && moving.valid.pointToIndex.originMm == toIndex.originMm;
  if (!oneSpline_)
    return work;

  const AffineMap<D> index =
      compose(indexFromPoint<D>(toIndex), compose(oneSpline_->linear, r.pointFromIndex));
  const Matrix<D> fromDisplacement = multiply<D>(toIndex.fromOffset, oneSpline_->turn);
  double longest = 0; // largest change of an index, in voxels, per mm of displacement along each axis
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
  work.shape = hasSpline ? shapeOfSpline_ : shapeForLinear<D>(index, lattice_.size, moving.image.order);
  const double reach = farthest<D>(reachOfRun<D>(index, work.shape));
  constexpr int maxKnots = 8; // knots of an axis, and roundings
  if (!(largestCoordinate<D>(index, lattice_.size) < largestWhole) || !(shift < longestShift)
      || !(imageVoxels < 0x1p32) || !(reach <= farthestOfRun)
      || !((reach + shift + maxKnots) * steps < farthestVoxel))
    return work;
  double margin = marginOfIndices<D>(index, work.shape) + 0x1p-19 * shift; // 32 roundings
  if (moving.image.order == 0 && !moving.image.nearestInDouble) // the CPU rounds indices to single precision
    margin +=
        0x1p-23 * static_cast<double>(*std::max_element(moving.image.size.begin(), moving.image.size.end()));
  r.margin = static_cast<float>(margin);
  // A cell begins Order / 2 knots before its middle knot, with even orders another half voxel before.
  const int order = moving.image.order == orderOfLabels ? 1 : moving.image.order;
  const double toFirstKnot = (order % 2 == 0 ? 0.5 : 0.0) - order / 2;
  // Extrapolation begins at the centres of the border voxels; without it the image ends half a voxel further.
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
  work.way = hasSpline ? Way::spline : Way::linear;
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
  case Way::spline:
    return "a B-spline at each voxel";
  default:
    return landmarks_ ? "a spline of landmarks to 0.001 mm" : "points in double precision";
  }
}

template <int D>
void ResamplingOnCuda<D>::reserve(Context& context, const MovingToResample<D>& moving, std::size_t slices)
{
  const MemoryPart part(context, "chunks of the result");
  if (inverse_)
    return inverse_->reserve(context, slices);
  if (heldCombination_) {
    grown(context, mappedMm_, D * voxelsOfSlice(lattice_) * slices);
    return;
  }
  if (landmarks_) {
    grown(context, displacements_, D * voxelsOfSlice(lattice_) * std::min(slicesOfField(lattice_), slices));
    return;
  }
  Work work = workFor(moving);
  work.lattice.endSlice = static_cast<int>(slices);
  if (work.way != Way::points)
    grown(context, unsure_, wordsOfMarks(work.lattice));
}

template <int D>
void ResamplingOnCuda<D>::resample(Context& context, const MovingToResample<D>& moving, std::size_t first,
                                   std::size_t count, float* voxels)
{
  reserve(context, moving, count);
  Work work = workFor(moving);
  work.lattice.firstSlice = static_cast<int>(first);
  work.lattice.endSlice = static_cast<int>(first + count);
  work.lattice.voxels = voxels;
  if (landmarks_)
    return resampleByLandmarks(context, work.lattice, first, count, voxels);
  if (inverse_)
    work.lattice.mappedMm = inverse_->rootsMm(context, first, count);
  if (heldCombination_)
    work.lattice.mappedMm = mapSlices(context, first, count);
  if (work.way == Way::points)
    return resampleByPoints<D>(context, work.lattice);
  work.lattice.unsure = unsure_.span().data();
  context.stream->fill(work.lattice.unsure, 0, unsure_.span().size_bytes());
  if (work.way == Way::linear)
    resampleLinearly<D>(context, work.lattice, work.index, work.shape);
  else
    resampleBySpline<D>(context, work.lattice, work.index, work.spline, work.shape);
  resampleUnsureVoxels<D>(context, work.lattice);
}

/// T(x) of the voxels of some slices, through a combination.
template <int D>
const double* ResamplingOnCuda<D>::mapSlices(Context& context, std::size_t first, std::size_t count)
{
  SamplesOnCuda<D> voxels;
  voxels.pointFromIndex = lattice_.pointFromIndex();
  voxels.first[D - 1] = static_cast<int>(first);
  voxels.step.fill(1);
  std::ranges::copy(lattice_.size, voxels.imageSize.begin());
  voxels.positions = voxels.imageSize;
  voxels.positions[D - 1] = static_cast<int>(count);
  voxels.count = voxelsOfSlice(lattice_) * count;
  double* const mappedMm = mappedMm_.span().data();
  mapCombinationOnCuda<D>(context, voxels, combination_, {mappedMm, {}, nullptr, nullptr});
  return mappedMm;
}

/// The link is replaced by an image of its displacements, slab by slab.
template <int D>
void ResamplingOnCuda<D>::resampleByLandmarks(Context& context, LatticeToResample<D> lattice,
                                              std::size_t first, std::size_t count, float* voxels)
{
  if constexpr (D == 3) {
    const std::size_t perSlice = voxelsOfSlice(lattice_), atOnce = std::min(slicesOfField(lattice_), count);
    TransformOnCuda<D>& link = lattice.chain.links[landmarks_->link];
    const SplineOfLandmarks<D> spline = link.kernelSpline();
    const AffineMap<D> indexFromPoint = inverse<D>(landmarks_->plan.pointFromIndex);
    link.kind = TransformKind::displacementImage;
    link.displacements = displacements_.span().data();
    link.order = 0;
    for (std::size_t slab = first; slab < first + count; slab += atOnce) {
      const std::size_t slices = std::min(atOnce, first + count - slab);
      splineFieldOnCuda(context, landmarks_->plan, spline, slab, slices, displacements_.span().data());
      link.map = indexFromPoint;
      link.map.offset[2] -= static_cast<double>(slab);
      link.points = {static_cast<int>(lattice_.size[0]), static_cast<int>(lattice_.size[1]),
                     static_cast<int>(slices)};
      lattice.firstSlice = static_cast<int>(slab);
      lattice.endSlice = static_cast<int>(slab + slices);
      lattice.voxels = voxels + perSlice * (slab - first);
      resampleByPoints<D>(context, lattice);
    }
  }
}

TESSERA_INSTANTIATE_CLASS(MovingToResample);
TESSERA_INSTANTIATE_CLASS(ResamplingOnCuda);

}
