#pragma once

#include "Core/Registration/FieldInterpolator.h"

#include <cstddef>
#include <span>

namespace tessera {

/// displacements, jacobians or jacobianDeterminants.
template <int D>
using FieldEvaluation = void (FieldInterpolator<D>::*)(Context&, const AlignedField<D>&,
                                                       const FieldCoefficients&, const FieldTarget&) const;

/// The same for any device with room for that, so that results do not depend on what else runs there.
constexpr std::size_t usualSlabBytes = std::size_t(256) << 20;

/// Evaluates a field on the context's CUDA device into host memory, interleaved. Done in slabs of whole
/// slices of the last axis, each of at most `slabBytes`, or one slice, and of what the device has free.
/// Throws Error(outOfMemory), with the bytes needed and free, if not even one slice fits.
template <int D>
void evaluateInSlabs(Context&, const FieldInterpolator<D>&, FieldEvaluation<D>, const AlignedField<D>&,
                     std::span<const double> coefficients, std::span<float> out,
                     std::size_t slabBytes = usualSlabBytes);

}
