#pragma once

#include "Core/Image/Filters/SelfSimilarityDescriptor.h"
#include "Core/Image/ImageGeometry.h"
#include "Core/Registration/Samples/Samples.h"

namespace tessera {

/// The self-similarities of an image, and where its voxels lie.
template <int D>
struct PlacedDescriptor {
  SelfSimilarityDescriptor<D> descriptor;
  AffineMap<D> indexFromPoint;
};

/// compareDescriptors writes one entry to each array for each pair of points that counts.
template <int D>
struct DescriptorDifferences {
  std::size_t* pair;              // numbers of these pairs, in ascending order
  float* squares;                 // sum_k (M_k - F_k)^2
  std::array<float*, D> slopes{}; // its derivative by the moving point's index along each axis; not if null
};

/// On the CPU, with F and M the numbers from 0 to 1 at a point of the fixed and one of the moving image,
/// interpolated linearly. A pair counts if each point lies less than half a voxel beyond its image. Returns
/// how many do; the arrays have room for all.
template <int D>
std::size_t compareDescriptors(const PlacedDescriptor<D>& fixed, const ListSamples<D>& pointsInFixed,
                               const PlacedDescriptor<D>& moving, const ListSamples<D>& pointsInMoving,
                               const DescriptorDifferences<D>&);

}
