#pragma once

#include "Core/Compute/Log.h"
#include "Core/Image/ImageGeometry.h"

#include <map>
#include <string>
#include <vector>

namespace tessera {

/// How many points lie beyond the outer voxels of an image.
struct PointsOutside {
  std::size_t count = 0, outside = 0;
  std::size_t first = 0; // number of the first point outside, from 1
  std::string reading;   // of the numbers in the file by which most would lie inside; empty: none is known

  double share() const { return count == 0 ? 0 : static_cast<double>(outside) / static_cast<double>(count); }
  /// For messages, if there are any.
  std::string text() const;
};

/// Shares of points that lie outside, by the image: "fixed" and "moving".
using SharesOutside = std::map<std::string, double>;

/// Looks where points in mm (LPS) lie, and, where half of them or more lie outside, whether their numbers
/// were meant in another way: as indices, as mm instead of indices, in RAS, or in micrometres. `areIndices`:
/// the file had indices of this image.
template <int D>
PointsOutside pointsOutside(const std::vector<Vec<D>>& pointsMm, const ImageGeometry<D>& image,
                            bool areIndices = false);

/// Keeps the share of these points outside of the image of a side, and tells of it: with a warning where it
/// is `leastWarned` or more. `where` begins the line.
template <int D>
void tellPointsOutside(const std::string& where, const std::vector<Vec<D>>& pointsMm,
                       const ImageGeometry<D>& image, bool areIndices, double leastWarned, double& share,
                       Log& log)
{
  const PointsOutside found = pointsOutside<D>(pointsMm, image, areIndices);
  share = found.share();
  if (found.outside > 0)
    share >= leastWarned ? log.warning(where + found.text() + ".") : log.info(where + found.text() + ".");
}

}
