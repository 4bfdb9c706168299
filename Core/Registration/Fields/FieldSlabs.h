#pragma once

#include "Core/Registration/FieldInterpolator.h"

#include <cstddef>
#include <span>

namespace tessera {

/// One of the member functions displacements, jacobians and jacobianDeterminants.
template <int D>
using FieldEvaluation = void (FieldInterpolator<D>::*)(Context&, const AlignedField<D>&,
                                                       const FieldCoefficients&, const FieldTarget&) const;

/// The usual size of a slab. It does not depend on the memory that is free, so that results do not either.
constexpr std::size_t usualSlabBytes = std::size_t(256) << 20;

/// Evaluates a field on the context's CUDA device and writes it to host memory, interleaved. It goes in slabs
/// of whole slices, each of at most `slabBytes` and of what the device has free, but at least one slice.
/// Throws Error(outOfMemory), with the bytes needed and free, if not even one slice fits.
template <int D>
void evaluateInSlabs(Context&, const FieldInterpolator<D>&, FieldEvaluation<D>, const AlignedField<D>&,
                     std::span<const double> coefficients, std::span<float> out,
                     std::size_t slabBytes = usualSlabBytes);

}
