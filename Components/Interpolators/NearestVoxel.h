#pragma once

#include "Core/Registration/Samples.h"

namespace tessera {

/// Values of the nearest voxels (halves rounded up) and, unless null, gradients in 1/mm: central differences at that voxel, at the
/// border between it and its one neighbour at half weight, as itk::GradientImageFilter gives them. As Interpolator::evaluate.
template <int D>
void evaluateNearest(const Image<D>&, const AffineMap<D>& indexFromPoint, const ListSamples<D>&, float* values,
                     float* const* gradients, std::uint8_t* inside);

}
