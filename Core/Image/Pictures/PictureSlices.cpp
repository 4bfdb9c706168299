#include "Core/Image/Pictures/PictureSlices.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr const char* planeNames[] = {"axial", "coronal", "sagittal"};
constexpr std::array<std::array<const char*, 4>, 3> letters{
    {{"R", "L", "A", "P"}, {"R", "L", "S", "I"}, {"A", "P", "S", "I"}}};

template <int D>
double largestSideMm(const ImageGeometry<D>& image)
{
  double sideMm = 0;
  for (int d = 0; d < D; ++d)
    sideMm = std::max(sideMm, static_cast<double>(image.size[d]) * image.spacingMm[d]);
  return sideMm;
}

/// An anatomical plane: the axes of an image that run right and down in a picture and through it, and whether
/// an index falls along them.
struct Plane {
  int right = 0, down = 0, through = -1; // through: -1 in 2D
  bool fallsRight = false, fallsDown = false, fallsThrough = false;
};

/// Axes that are oblique are taken for the nearest anatomical ones.
template <int D>
std::vector<Plane> planesOf(const Matrix<D>& direction)
{
  if constexpr (D == 2)
    return {{0, 1, -1, false, false, false}};
  else {
    std::array<int, 3> tried{0, 1, 2}, axis{}; // of the image, for each of L, P and S
    double most = 0;
    do {
      const double sum = std::abs(direction[0][tried[0]]) + std::abs(direction[1][tried[1]])
                         + std::abs(direction[2][tried[2]]);
      if (sum > most)
        axis = tried;
      most = std::max(sum, most);
    } while (std::ranges::next_permutation(tried).found);
    const auto falls = [&](int world) { return direction[world][axis[static_cast<std::size_t>(world)]] < 0; };
    return {{axis[0], axis[1], axis[2], falls(0), falls(1), falls(2)},
            {axis[0], axis[2], axis[1], falls(0), !falls(2), falls(1)},
            {axis[1], axis[2], axis[0], falls(1), !falls(2), falls(0)}};
  }
}

std::string positionText(double mm, std::size_t plane)
{
  constexpr const char* towards[3][2] = {{"I", "S"}, {"A", "P"}, {"R", "L"}};
  const double rounded = std::round(mm);
  return std::string(towards[plane][rounded < 0 ? 0 : 1]) + " "
         + std::to_string(static_cast<long long>(std::abs(rounded))) + " mm";
}

/// Replaces an axis of the lattice by pixels along an axis of the image.
template <int D>
void setPixels(ImageGeometry<D>& lattice, Vec<D>& firstIndex, int axis, const ImageGeometry<D>& image,
               int imageAxis, bool falls, double pixelMm)
{
  const auto voxels = static_cast<double>(image.size[imageAxis]);
  const double count = std::max(1.0, std::floor(voxels * image.spacingMm[imageAxis] / pixelMm + 0.5));
  lattice.size[axis] = static_cast<std::size_t>(count);
  lattice.spacingMm[axis] = voxels * image.spacingMm[imageAxis] / count;
  for (int d = 0; d < D; ++d)
    lattice.direction[d][axis] = (falls ? -1 : 1) * image.direction[d][imageAxis];
  const double first = 0.5 * voxels / count - 0.5;
  firstIndex[imageAxis] = falls ? voxels - 1 - first : first;
}

}

template <int D>
std::vector<PictureSlice<D>> pictureSlices(const ImageGeometry<D>& image, const Matrix<D>& headerDirection,
                                           const Size<D>& firstVoxel, const Size<D>& lastVoxel,
                                           std::size_t slicesOfPlane, std::size_t wantedPixels,
                                           std::size_t maxPixels)
{
  const double sideMm = largestSideMm<D>(image);
  const double spacingMm = *std::ranges::min_element(image.spacingMm);
  const double times = std::max(1.0, std::round(static_cast<double>(wantedPixels) * spacingMm / sideMm));
  const double pixelMm = std::max(spacingMm / times, sideMm / static_cast<double>(maxPixels));
  std::vector<PictureSlice<D>> slices;
  const std::vector<Plane> planes = planesOf<D>(headerDirection);
  for (std::size_t p = 0; p < planes.size(); ++p) {
    const Plane& plane = planes[p];
    PictureSlice<D> slice;
    Vec<D> firstIndex{};
    setPixels<D>(slice.lattice, firstIndex, 0, image, plane.right, plane.fallsRight, pixelMm);
    setPixels<D>(slice.lattice, firstIndex, 1, image, plane.down, plane.fallsDown, pixelMm);
    if constexpr (D == 2) {
      slice.lattice.originMm = image.pointFromIndex()(firstIndex);
      slices.push_back(slice);
    } else {
      const int through = plane.through;
      slice.plane = planeNames[p];
      std::ranges::copy(letters[p], slice.letters.begin());
      slice.lattice.size[2] = 1;
      slice.lattice.spacingMm[2] = image.spacingMm[through];
      for (int d = 0; d < D; ++d)
        slice.lattice.direction[d][2] = image.direction[d][through];
      const auto first = static_cast<double>(firstVoxel[through]),
                 last = static_cast<double>(lastVoxel[through]);
      const std::size_t count =
          std::min(slicesOfPlane, lastVoxel[through] - firstVoxel[through] + 1); // a thin image has fewer
      for (std::size_t i = 0; i < count; ++i) {
        const double share = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
        const double along = plane.fallsThrough ? last + 0.5 - share * (last - first + 1)
                                                : first - 0.5 + share * (last - first + 1);
        firstIndex[through] = std::round(along);
        slice.lattice.originMm = image.pointFromIndex()(firstIndex);
        ImageGeometry<D> inHeader = image;
        inHeader.direction = headerDirection;
        Vec<D> middle = firstIndex;
        for (const int axis : {plane.right, plane.down})
          middle[axis] = (static_cast<double>(image.size[axis]) - 1) / 2;
        slice.position = positionText(inHeader.pointFromIndex()(middle)[p == 0 ? 2 : p == 1 ? 1 : 0], p);
        slices.push_back(slice);
      }
    }
  }
  return slices;
}

template <int D>
void nameByTime(PictureSlice<D>& slice, const ImageGeometry<D>& series)
{
  slice.letters = {};
  if (slice.plane == "axial") {
    const double time = series.indexFromPoint()(slice.lattice.originMm)[D - 1];
    slice.position = std::to_string(std::lround(time)) + " of 0 to " + std::to_string(series.size[D - 1] - 1);
  }
  slice.plane = slice.plane == "axial" ? "time" : slice.plane == "coronal" ? "x-time" : "y-time";
}

template <int D>
double roundStepMm(const ImageGeometry<D>& image)
{
  const double stepMm = largestSideMm<D>(image) / 20, power = std::pow(10, std::floor(std::log10(stepMm)));
  const double times = stepMm / power;
  return power * (times < 1.5 ? 1 : times < 3.5 ? 2 : times < 7.5 ? 5 : 10);
}

template <int D>
ImageGeometry<D> everyNthPixel(const ImageGeometry<D>& lattice, std::size_t n)
{
  ImageGeometry<D> coarse = lattice;
  for (int d = 0; d < 2; ++d) {
    coarse.size[d] = (lattice.size[d] + n - 1) / n;
    coarse.spacingMm[d] = lattice.spacingMm[d] * static_cast<double>(n);
  }
  return coarse;
}

TESSERA_INSTANTIATE_FUNCTIONS(pictureSlices<D>, nameByTime<D>, roundStepMm<D>, everyNthPixel<D>);

}
