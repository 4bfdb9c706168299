#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Math/SmallMatrix.h"
#include "Core/Image/ImageGeometry.h"

namespace tessera {

/// Displacements in mm on a lattice, three numbers a point, on a CUDA device.
struct DisplacementsOnCuda {
  const float* values = nullptr; // null: there are none
  Size<3> size{};
  AffineMap<3> indexFromPoint;
};

/// An image on a CUDA device, and the index there of a point that displacements have moved.
struct SampledOnCuda {
  const float* voxels = nullptr;
  Size<3> size{};
  AffineMap<3> indexFromPoint;
};

/// out = the image at p + displacement(p) for the voxels p of a grid, both linearly interpolated; border
/// values continue.
TESSERA_CUDA_ONLY void sampleLinearlyOnCuda(const Context&, const Size<3>& grid,
                                            const AffineMap<3>& pointFromIndex, const DisplacementsOnCuda&,
                                            const SampledOnCuda&, float* out);

}
