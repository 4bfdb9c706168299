#pragma once

#include "Core/Registration/SampleKernels.h"
#include "Core/Registration/Samples.h"

#include <memory>

namespace tessera {

/// Brings a level's samples to a CUDA device: the fixed image and its mask once, points that lie on the host every time.
template <int D>
class SamplesForCuda {
public:
  /// `mask` may be null.
  SamplesForCuda(const Context&, const ImagePointer<D>& fixed, const MaskPointer<D>& mask);

  /// Valid until the next call. Throws Error(usage) for a lattice of more voxels than kernels count.
  SamplesOnCuda<D> of(const Context&, const SampleSet<D>&);

private:
  SamplesOnCuda<D> ofLattice(const Context&, const VoxelLattice<D>&);
  SamplesOnCuda<D> ofList(const Context&, const PointList<D>&);

  ImagePointer<D> fixed_;
  MaskPointer<D> mask_;
  std::shared_ptr<const Buffer<float>> fixedVoxels_;
  std::shared_ptr<const Buffer<std::uint8_t>> maskVoxels_;
  PointsOnCuda<D> uploaded_;
};

}
