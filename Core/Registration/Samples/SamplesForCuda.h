#pragma once

#include "Core/Registration/Samples/SampleKernels.h"
#include "Core/Registration/Samples/Samples.h"

#include <memory>
#include <optional>

namespace tessera {

/// Copies a level's samples to a CUDA device: the fixed image once, points of the host each time. The mask is
/// evaluated once for each position of a lattice.
template <int D>
class SamplesForCuda {
public:
  SamplesForCuda(const Context& context, const ImagePointer<D>& fixed)
      : fixed_(fixed), fixedVoxels_(voxelsOnCuda<D>(context, fixed))
  {
  }

  /// Takes the memory that `of` needs for a lattice. `of` takes it if this was not called.
  void reserve(const Context& context, const VoxelLattice<D>& lattice)
  {
    if (!lattice.mask)
      return;
    mask_ = voxelsOnCuda<D>(context, lattice.mask);
    if (asked_.size() < lattice.positions())
      askedFor_.reset();
    grown(context, asked_, lattice.positions());
  }
  /// The result is valid until the next call. Throws Error(usage) if a lattice has 2^32 voxels or more.
  SamplesOnCuda<D> of(const Context&, const SampleSet<D>&);

private:
  SamplesOnCuda<D> ofLattice(const Context&, const VoxelLattice<D>&);
  const std::uint8_t* askedOf(const Context&, const VoxelLattice<D>&, const SamplesOnCuda<D>&);
  SamplesOnCuda<D> ofList(const Context&, const PointList<D>&);

  ImagePointer<D> fixed_;
  std::shared_ptr<const Buffer<float>> fixedVoxels_;
  std::shared_ptr<const Buffer<std::uint8_t>> mask_; // of the lattice that was given last
  Buffer<std::uint8_t> asked_;
  std::optional<VoxelLattice<D>> askedFor_;
  PointsOnCuda<D> uploaded_;
};

}
