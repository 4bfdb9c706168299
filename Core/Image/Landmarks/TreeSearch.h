#pragma once

#include "Core/Image/Landmarks/TreeRegularization.h"

#include <span>
#include <vector>

namespace tessera {

/// For each keypoint the displacement of the least cost after regularizeOnTree, of searchCosts times
/// `costWeight`. Equal descriptors give the same bits on the CPU and on CUDA. On CUDA it takes 8 grid.count()
/// bytes a keypoint; if there are fewer, the tree is done on the CPU.
template <int D>
std::vector<LeastCost> searchOnTree(const Context&, const DescribedImage<D>& here,
                                    const DescribedImage<D>& there, std::span<const Voxel> keypoints,
                                    std::span<const Voxel> startsThere, const Tree&, const DisplacementGrid&,
                                    int patchRadius, float costWeight);

}
