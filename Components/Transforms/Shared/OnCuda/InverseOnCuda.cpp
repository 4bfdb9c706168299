#include "Components/Transforms/Shared/OnCuda/InverseOnCuda.h"

#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Compute/Memory/HostCopies.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Image/Slices/ImageSlices.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

namespace tessera {
namespace {

constexpr double bytesOfSlab = 256 << 20; // at most; bits do not depend on slabs
constexpr std::size_t maxBoxes = 1 << 16; // of the blocks of ForwardCells, also where a lattice is thin

template <int D>
constexpr std::size_t bytesOfRoot = D * sizeof(double) + sizeof(unsigned); // and its place in the list

template <int D>
std::array<int, D> wholeNumbers(const Size<D>& size)
{
  std::array<int, D> numbers;
  std::ranges::copy(size, numbers.begin());
  return numbers;
}

}

template <int D>
InverseOnCuda<D>::InverseOnCuda(Context& context, const InverseTransform<D>& inverse,
                                const ImageGeometry<D>& lattice)
    : inverse_(inverse), held_(HeldChainOnCuda<D>::constant(context, inverse.inverted())), found_(context, 1)
{
  toFind_.size = wholeNumbers<D>(lattice.size);
  toFind_.pointFromIndex = lattice.pointFromIndex();
  toFind_.rules = inverse.roots().rules();
  toFind_.chain = held_.before();
  toFind_.found = found_.span().data();
  holdSpline(context);
}

template <int D>
void InverseOnCuda<D>::holdSpline(Context& context)
{
  constexpr double shareOfTolerance = 0.5;
  const std::optional<SplineMapOfChain<D>> spline = asSplineMap<D>(inverse_.inverted());
  if (!spline || !(spline->errorMm <= shareOfTolerance * toFind_.rules.toleranceMm))
    return;
  coefficients_.fromHost(context, spline->coefficientsMm);
  spline_ = spline->map;
  spline_.coefficients = std::as_const(coefficients_).span().data();
  splineErrorMm_ = spline->errorMm;
}

template <int D>
void InverseOnCuda<D>::reserve(const Context& context, std::size_t slices)
{
  const MemoryPart part(context, "roots");
  std::size_t voxels = slices;
  for (int d = 0; d + 1 < D; ++d)
    voxels *= static_cast<std::size_t>(toFind_.size[d]);
  grown(context, rootsMm_, D * voxels);
  grown(context, unsettled_, voxels);
  if (!onlyCountsMemory(context))
    return;
  grown(context, imagesMm_, ForwardCells<D>::maxPoints);
  grown(context, boxes_, maxBoxes);
}

template <int D>
const double* InverseOnCuda<D>::rootsMm(Context& context, std::size_t first, std::size_t count)
{
  const auto begin = static_cast<int>(first), end = static_cast<int>(first + count);
  if (toFind_.rootsMm && toFind_.firstSlice == begin && toFind_.endSlice == end)
    return toFind_.rootsMm;
  toFind_.rootsMm = nullptr; // if anything throws, nothing was found
  toFind_.firstSlice = begin;
  toFind_.endSlice = end;
  const std::size_t voxels = toFind_.voxelCount();
  reserve(context, count);
  double* const roots = rootsMm_.span().data();
  toFind_.unsettled = unsettled_.span().data();
  context.stream->fill(toFind_.found, 0, sizeof(RootsFound));
  RootsToFind<D> toFind = toFind_;
  toFind.rootsMm = roots;
  if (spline_.coefficients) {
    RootsToFind<D> bySpline = toFind;
    bySpline.rules.toleranceMm -= splineErrorMm_;
    findRootsBySplineOnCuda<D>(context, bySpline, spline_);
  } else {
    findRootsOnCuda<D>(context, toFind);
  }
  RootsFound found = found_.toHost(context).front();
  if (found.unsettled > 0) {
    makeCells(context);
    findSecondRootsOnCuda<D>(context, toFind, cells_, found.unsettled);
    found = found_.toHost(context).front();
  }
  if (found.broken > 0)
    failWithoutNumber();
  const auto ofKind = [&](RootKind kind) { return found.ofKind[static_cast<std::size_t>(kind)]; };
  inverse_.addCounts({voxels, ofKind(RootKind::folded), ofKind(RootKind::outside),
                      ofKind(RootKind::insideFolds), std::bit_cast<double>(found.residualBits),
                      found.unsettled});
  return toFind_.rootsMm = roots;
}

template <int D>
void InverseOnCuda<D>::makeCells(Context& context)
{
  if (imagesMm_.size() > 0)
    return;
  const AffineMap<D>& linearInverse = toFind_.rules.linearInverse;
  const ImageGeometry<D>& region = inverse_.roots().region();
  const auto toMap = [&](const ImageGeometry<D>& lattice) {
    return LatticeToMap<D>{wholeNumbers<D>(lattice.size), lattice.pointFromIndex(), linearInverse,
                           toFind_.chain};
  };
  Buffer<unsigned long long> bits(context, 1);
  context.stream->fill(bits.span().data(), 0, bits.span().size_bytes());
  mapLatticeOnCuda<D>(context, toMap(ForwardCells<D>::latticeOver(region, 0)), nullptr, bits.span().data());
  const double largestMm = std::bit_cast<double>(bits.toHost(context).front());
  const ImageGeometry<D> lattice = ForwardCells<D>::latticeOver(region, largestMm);
  cells_ = ForwardCells<D>::cellsOf(lattice, linearInverse);
  imagesMm_ = Buffer<Vec<D>>(context, lattice.voxelCount());
  boxes_ = Buffer<PointBox<D>>(context, static_cast<std::size_t>(cells_.blockCount()));
  mapLatticeOnCuda<D>(context, toMap(lattice), imagesMm_.span().data(), bits.span().data());
  cells_.imagesMm = imagesMm_.span().data();
  boxBlocksOnCuda<D>(context, cells_, boxes_.span().data());
  cells_.boxes = boxes_.span().data();
}

template <int D>
void KernelForm<D>::fieldOfInverse(Context& context, const InverseTransform<D>& inverse,
                                   const ImageGeometry<D>& lattice, RootQuantity quantity,
                                   std::span<float> fieldOnHost) const
{
  const std::size_t components = componentsOf<D>(quantity), sliceVoxels = voxelsOfSlice<D>(lattice),
                    all = lattice.size[D - 1], sliceValues = components * sliceVoxels;
  InverseOnCuda<D> search(context, inverse, lattice);
  constexpr double bytesOfCells =
      sizeof(Vec<D>) * ForwardCells<D>::maxPoints + sizeof(PointBox<D>) * maxBoxes;
  const double room = usableDeviceMemory(context) - bytesOfCells,
               bytesOfSlice =
                   static_cast<double>(sliceVoxels * (bytesOfRoot<D> + components * sizeof(float)));
  const auto fitting = static_cast<std::size_t>(std::max(std::min(bytesOfSlab, room), 0.0) / bytesOfSlice);
  const std::size_t most = std::clamp<std::size_t>(fitting, 1, std::min(maxSlicesOfLaunch, all));
  Buffer<float> values(context, sliceValues * most);
  for (std::size_t first = 0; first < all; first += most) {
    const std::size_t count = std::min(most, all - first);
    search.rootsMm(context, first, count);
    search.write(context, quantity, values.span().data());
    copyLargeToHost(context, fieldOnHost.data() + sliceValues * first, values.span().data(),
                    sliceValues * count * sizeof(float));
  }
}

TESSERA_INSTANTIATE_CLASS(InverseOnCuda);
template void KernelForm<2>::fieldOfInverse(Context&, const InverseTransform<2>&, const ImageGeometry<2>&,
                                            RootQuantity, std::span<float>) const;
template void KernelForm<3>::fieldOfInverse(Context&, const InverseTransform<3>&, const ImageGeometry<3>&,
                                            RootQuantity, std::span<float>) const;

}
