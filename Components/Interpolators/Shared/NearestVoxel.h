#pragma once

#include "Core/Registration/Interpolation/IndexRow.h"
#include "Core/Registration/Samples/Samples.h"

namespace tessera {

/// The number that decides between two voxels is the index itself, as in ITK's nearest neighbour, or the
/// index rounded to float, as in its spline of order 0.
enum class NearestRule { exact, inFloat };

/// Voxels of an image, x fastest.
template <int D>
struct VoxelArray {
  const float* voxels = nullptr;
  Size<D> size{};
};

/// Values of the nearest voxels (halves are rounded up) and, unless null, gradients in 1/mm. Gradients are
/// central differences at that voxel; at the border they are half the difference to the one neighbour, as in
/// itk::GradientImageFilter. The arguments are those of Interpolator::evaluate.
template <int D>
void evaluateNearest(const VoxelArray<D>&, const PointToIndex<D>& pointToIndex, NearestRule,
                     const ListSamples<D>&, float* values, float* const* gradients, std::uint8_t* inside);

/// Does the work of Interpolator::evaluateRow.
template <int D>
bool evaluateNearestRow(const VoxelArray<D>&, NearestRule, const IndexRow<D>&, float* values,
                        RowSpan& inside);

}
