#pragma once

#include "Core/Registration/Interpolation/RowInterpolator.h"
#include "Core/Registration/Samples/Samples.h"

namespace tessera {

/// Where halves are told: ITK's nearest neighbour looks at the index itself, its spline of order 0 at the
/// index rounded to float.
enum class NearestRule { exact, inFloat };

/// Voxels of an image, x fastest.
template <int D>
struct VoxelArray {
  const float* voxels = nullptr;
  Size<D> size{};
};

/// Values of the nearest voxels (halves rounded up) and, unless null, gradients in 1/mm: central differences
/// at that voxel, at the border between it and its one neighbour at half weight, as itk::GradientImageFilter
/// gives them. As Interpolator::evaluate.
template <int D>
void evaluateNearest(const VoxelArray<D>&, const PointToIndex<D>& pointToIndex, NearestRule,
                     const ListSamples<D>&, float* values, float* const* gradients, std::uint8_t* inside);

/// As RowInterpolator::evaluateRow.
template <int D>
bool evaluateNearestRow(const VoxelArray<D>&, NearestRule, const IndexRow<D>&, float* values,
                        RowSpan& inside);

}
