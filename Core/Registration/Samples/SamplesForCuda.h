#pragma once

#include "Core/Registration/Samples/SampleKernels.h"
#include "Core/Registration/Samples/Samples.h"

#include <memory>
#include <optional>

namespace tessera {

/// Brings a level's samples to a CUDA device: the fixed image once, points that lie on the host every time. A
/// mask is looked up once for each position of a lattice.
template <int D>
class SamplesForCuda {
public:
  SamplesForCuda(const Context&, const ImagePointer<D>& fixed);

  /// Valid until the next call. Throws Error(usage) for a lattice of more voxels than kernels count.
  SamplesOnCuda<D> of(const Context&, const SampleSet<D>&);

private:
  SamplesOnCuda<D> ofLattice(const Context&, const VoxelLattice<D>&);
  const std::uint8_t* askedOf(const Context&, const VoxelLattice<D>&, const SamplesOnCuda<D>&);
  SamplesOnCuda<D> ofList(const Context&, const PointList<D>&);

  ImagePointer<D> fixed_;
  std::shared_ptr<const Buffer<float>> fixedVoxels_;
  Buffer<std::uint8_t> asked_;
  std::optional<VoxelLattice<D>> askedFor_;
  PointsOnCuda<D> uploaded_;
};

}
