#include "Core/Registration/Samples/SamplesForCuda.h"

#include "Core/Compute/Error.h"

#include <type_traits>

namespace tessera {

template <int D>
SamplesOnCuda<D> SamplesForCuda<D>::of(const Context& context, const SampleSet<D>& set)
{
  return std::visit(
      [&](const auto& samples) {
        if constexpr (std::is_same_v<std::decay_t<decltype(samples)>, VoxelLattice<D>>)
          return ofLattice(context, samples);
        else
          return ofList(context, samples);
      },
      set);
}

template <int D>
SamplesOnCuda<D> SamplesForCuda<D>::ofLattice(const Context& context, const VoxelLattice<D>& lattice)
{
  constexpr std::size_t maxSamples = 0xffffffff;
  SamplesOnCuda<D> samples;
  samples.count = lattice.positions();
  if (samples.count > maxSamples)
    throw Error(ExitCode::usage, "CUDA: " + std::to_string(samples.count)
                                     + " voxels of a level: more than kernels count. Allowed: at most "
                                     + std::to_string(maxSamples)
                                     + ", a coarser level, or (Device \"cpu\").");
  samples.pointFromIndex = lattice.image->geometry.pointFromIndex();
  bool whole = true;
  for (int d = 0; d < D; ++d) {
    samples.first[d] = static_cast<int>(lattice.first[d]);
    samples.step[d] = static_cast<int>(lattice.step[d]);
    samples.positions[d] = static_cast<int>(lattice.count[d]);
    samples.imageSize[d] = static_cast<int>(lattice.image->geometry.size[d]);
    whole = whole && lattice.count[d] == lattice.image->geometry.size[d];
  }
  if (lattice.image != fixed_) {
    fixed_ = lattice.image;
    fixedVoxels_ = voxelsOnCuda<D>(context, lattice.image);
  }
  samples.image = fixedVoxels_->span().data();
  if (lattice.mask)
    samples.asked = askedOf(context, lattice, samples);
  if (whole)
    samples.fixed = samples.image;
  return samples;
}

/// Finds which positions of a lattice the mask contains, once for a lattice, by the CPU's expressions.
template <int D>
const std::uint8_t* SamplesForCuda<D>::askedOf(const Context& context, const VoxelLattice<D>& lattice,
                                               const SamplesOnCuda<D>& samples)
{
  reserve(context, lattice);
  if (askedFor_ != lattice) {
    maskLatticeOnCuda<D>(context, samples, MaskOnCuda<D>(*lattice.mask, *mask_), asked_.span().data());
    askedFor_ = lattice;
  }
  return asked_.span().data();
}

template <int D>
SamplesOnCuda<D> SamplesForCuda<D>::ofList(const Context& context, const PointList<D>& list)
{
  if (!list.onCuda) {
    for (int d = 0; d < D; ++d)
      uploaded_.mm[d].fromHost(context, list.mm[d]);
    uploaded_.fixed.fromHost(context, list.fixed);
  }
  const PointsOnCuda<D>& points = list.onCuda ? *list.onCuda : uploaded_;
  SamplesOnCuda<D> samples;
  samples.count = list.positions();
  samples.fixed = points.fixed.span().data();
  for (int d = 0; d < D; ++d)
    samples.pointMm[d] = points.mm[d].span().data();
  return samples;
}

TESSERA_INSTANTIATE_CLASS_TO_4(SamplesForCuda);

}
