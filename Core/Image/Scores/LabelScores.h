#pragma once

#include "Core/Compute/Context.h"
#include "Core/Image/Image.h"

#include <map>
#include <optional>

namespace tessera {

/// How well a label of one image covers the same label of another.
struct LabelScore {
  std::size_t voxelsA = 0, voxelsB = 0, voxelsOfBoth = 0;
  double dice = 0; // 2 |A and B| / (|A| + |B|)
  // Distances between the surfaces, from the centres of voxels. A voxel of a label is on its surface if one
  // of its 2 D neighbours is not of the label, or outside of the image. None if an image lacks the label.
  std::optional<double> hausdorff95Mm;         // the larger of both directions' 95th percentiles
  std::optional<double> meanSurfaceDistanceMm; // mean over the voxels of both surfaces
};

/// The scores of all labels but 0 of either image, which have one grid and whole numbers as values.
template <int D>
std::map<int, LabelScore> labelScores(const Context&, const Image<D>& a, const Image<D>& b);

}
