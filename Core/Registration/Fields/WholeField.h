#pragma once

#include "Core/Registration/Transform.h"

#include <span>
#include <string>

namespace tessera {

/// A transform with a way of its own to compute its displacements at all voxels of a lattice on a CUDA
/// device.
template <int D>
class WholeField {
public:
  virtual ~WholeField() = default;

  /// Empty if fieldOnCuda can do it; otherwise the reason why not.
  virtual std::string whyNoFieldOnCuda(std::span<const double> parameters,
                                       const ImageGeometry<D>& lattice) const = 0;
  /// T(x) - x in mm, D floats a voxel, in host memory; takes at most 256 MB of the device at a time.
  virtual void fieldOnCuda(Context&, std::span<const double> parameters, const ImageGeometry<D>& lattice,
                           std::span<float> displacements) const = 0;
};

/// The whole field of a chain of one transform; null: it has none.
template <int D>
const WholeField<D>* wholeFieldOf(const TransformChain<D>& chain)
{
  return chain.initial ? nullptr : dynamic_cast<const WholeField<D>*>(chain.transform.get());
}

}
