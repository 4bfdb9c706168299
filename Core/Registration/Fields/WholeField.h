#pragma once

#include "Core/Registration/Transform.h"

#include <span>
#include <string>

namespace tessera {

/// Pairs of a voxel and a landmark from which on fields of splines, and images on CUDA, are computed by
/// polynomials. Fewer are computed one by one: to rounding, and soon.
constexpr double fewestPairsOfField = 1e9;

/// A transform with a way of its own to compute its displacements at all voxels of a lattice.
template <int D>
class WholeField {
public:
  virtual ~WholeField() = default;

  /// Empty if wholeField() can do it on such a device, and is to be preferred there; otherwise the reason why
  /// not.
  virtual std::string whyNoField(DeviceKind, std::span<const double> parameters,
                                 const ImageGeometry<D>& lattice) const = 0;
  /// T(x) - x in mm, D floats a voxel, in host memory; takes at most 256 MB of a CUDA device at a time.
  virtual void wholeField(Context&, std::span<const double> parameters, const ImageGeometry<D>& lattice,
                          std::span<float> displacements) const = 0;
};

/// The whole field of a chain of one transform; null: it has none.
template <int D>
const WholeField<D>* wholeFieldOf(const TransformChain<D>& chain)
{
  return chain.initial ? nullptr : dynamic_cast<const WholeField<D>*>(chain.transform.get());
}

}
