#pragma once

#include "Core/Image/Landmarks/DisplacementSearch.h"

#include <cstddef>
#include <span>
#include <vector>

namespace tessera {

/// A tree over points: the parent of each, itself for the root, and the length of the edge to it.
struct Tree {
  std::vector<std::size_t> parent;
  std::vector<double> length;
  std::vector<std::size_t> order; // parents before their children
};

/// The minimum spanning tree of points for the lengths |x_i - x_j| + |value_i - value_j|, at least 0.1. Its
/// root is point 0. Of edges of equal length those between smaller numbers come first.
Tree minimumSpanningTree(std::span<const Vec<3>> points, std::span<const double> values);

/// Replaces the costs of each keypoint and displacement d by the least total of
///
///   sum_i costs_i(d_i) + sum over edges |d_i - d_j|^2 / length
///
/// over the displacements of all other keypoints, less its minimum: min-sum belief propagation, exact on a
/// tree (Felzenszwalb and Huttenlocher, "Efficient belief propagation for early vision", 2006). Displacements
/// are in voxels.
void regularizeOnTree(const Context&, const Tree&, const DisplacementGrid&, std::vector<float>& costs);

/// For each keypoint the displacement of the least cost after regularizeOnTree, of searchCosts times
/// `costWeight`. Equal descriptors give the same bits on the CPU and on CUDA. On CUDA it takes 8 grid.count()
/// bytes a keypoint; if there are fewer, the tree is done on the CPU.
template <int D>
std::vector<LeastCost> searchOnTree(const Context&, const DescribedImage<D>& here,
                                    const DescribedImage<D>& there, std::span<const Voxel> keypoints,
                                    std::span<const Voxel> startsThere, const Tree&, const DisplacementGrid&,
                                    int patchRadius, float costWeight);

}
