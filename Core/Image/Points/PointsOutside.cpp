#include "Core/Image/Points/PointsOutside.h"

#include <algorithm>
#include <cmath>

namespace tessera {

std::string PointsOutside::text() const
{
  return std::to_string(outside) + " of " + std::to_string(count)
         + " points lie outside of their image, the first of them is number " + std::to_string(first)
         + ", counted from 1" + (reading.empty() ? "" : "; read as " + reading + " most would lie inside");
}

template <int D>
PointsOutside pointsOutside(const std::vector<Vec<D>>& pointsMm, const ImageGeometry<D>& image,
                            bool areIndices)
{
  struct Reading {
    std::string name;
    Vec<4> factor; // of mm, and of a time
    bool areIndices;
  };
  const AffineMap<D> indexFromPoint = image.indexFromPoint();
  PointsOutside result;
  double farthest = 0; // in sizes of the image
  for (const Reading& reading :
       {Reading{"", {1, 1, 1, 1}, areIndices},
        Reading{areIndices ? "mm (LPS)" : "indices of voxels", {1, 1, 1, 1}, !areIndices},
        Reading{"mm in RAS", {-1, -1, 1, 1}, false}, Reading{"micrometres", {1e-3, 1e-3, 1e-3, 1}, false}}) {
    constexpr double far = 10;
    if (reading.factor[2] < 1 && farthest < far) // a thousandth of any number lies near 0
      break;
    PointsOutside found{pointsMm.size(), 0, 0, reading.name};
    for (std::size_t i = 0; i < pointsMm.size(); ++i) {
      Vec<D> index = areIndices ? indexFromPoint(pointsMm[i]) : pointsMm[i]; // the number in the file
      for (int d = 0; d < D && !reading.areIndices; ++d)
        index[d] *= reading.factor[d];
      if (!reading.areIndices)
        index = indexFromPoint(index);
      bool isInside = true;
      for (int d = 0; d < D; ++d) {
        const auto size = static_cast<double>(image.size[d]);
        isInside = isInside && index[d] >= -0.5 && index[d] <= size - 0.5;
        farthest = std::max(farthest, reading.name.empty() ? std::abs(index[d]) / size : 0);
      }
      if (!isInside && found.outside++ == 0)
        found.first = i + 1;
    }
    if (reading.name.empty())
      result = found;
    if (result.outside == 0 || result.share() < 0.5)
      break;
    if (2 * found.outside < found.count && result.reading.empty())
      result.reading = found.reading;
  }
  return result;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(pointsOutside<D>);

}
