#include "Core/Image/ShearedGrid.h"

#include "Core/Compute/Error.h"
#include "Core/Image/Files/ImageFormat.h"

#include <algorithm>
#include <cmath>

namespace tessera {

template <int D>
bool isSheared(const ImageGeometry<D>& geometry)
{
  constexpr double tolerated = 0.1; // share of the spacing
  const auto lengthMm = [&](int axis) {
    return static_cast<double>(geometry.size[axis]) * geometry.spacingMm[axis];
  };
  double largestMm = 0;
  for (int i = 0; i < D; ++i)
    for (int j = 0; j < i; ++j) {
      double cosine = 0;
      for (int d = 0; d < D; ++d)
        cosine += geometry.direction[d][i] * geometry.direction[d][j];
      largestMm += std::abs(cosine) / 2 * (lengthMm(i) + lengthMm(j)); // each axis turns by half the angle
    }
  return largestMm > tolerated * *std::ranges::min_element(geometry.spacingMm);
}

template <int D>
void checkHoldsGrid(const std::string& format, const ImageGeometry<D>& geometry)
{
  if (holdsOnlyPerpendicularAxes(format) && isSheared(geometry))
    throw Error(
        ExitCode::unwritableOutput,
        "image format \"" + format
            + "\": cannot hold a grid whose axes are not perpendicular, such as that of a CT with gantry "
              "tilt: the voxels would lie elsewhere. Allowed: mha, mhd, nrrd, nhdr, h5, hdf5.");
}

template <int D>
std::string gridLostBy(const std::string& format, const ImageGeometry<D>& geometry)
{
  const std::string lost = geometryLostBy(format, D);
  return lost.empty() && format == "dcm" && isSheared(geometry)
             ? "shift of the slices against each other (gantry tilt)"
             : lost;
}

template bool isSheared(const ImageGeometry<2>&);
template bool isSheared(const ImageGeometry<3>&);
template void checkHoldsGrid(const std::string&, const ImageGeometry<2>&);
template void checkHoldsGrid(const std::string&, const ImageGeometry<3>&);
template std::string gridLostBy(const std::string&, const ImageGeometry<2>&);
template std::string gridLostBy(const std::string&, const ImageGeometry<3>&);

}
