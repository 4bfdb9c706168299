#include "Core/Image/Pictures/ComparisonPictures.h"

#include "Core/Image/Pictures/EdgeLines.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr std::array<std::uint8_t, 3> edgeColour{255, 150, 0};
constexpr std::size_t gapPixels = 4;

/// The place along an axis of the centre of a pixel, in voxels.
struct Place {
  std::size_t below, above;
  float share; // of `above`
};

std::vector<Place> placesAlong(std::size_t size, double spacingMm, double pixelMm, bool falls)
{
  const auto count = static_cast<std::size_t>(
      std::max(1.0, std::floor(static_cast<double>(size) * spacingMm / pixelMm + 0.5)));
  std::vector<Place> places;
  for (std::size_t i = 0; i < count; ++i) {
    const double voxel = std::clamp(
        (static_cast<double>(i) + 0.5) * static_cast<double>(size) / static_cast<double>(count) - 0.5, 0.0,
        static_cast<double>(size - 1));
    const auto below = static_cast<std::size_t>(voxel);
    places.push_back(
        {below, std::min(below + 1, size - 1), static_cast<float>(voxel - static_cast<double>(below))});
  }
  if (falls)
    std::ranges::reverse(places);
  return places;
}

template <int D>
GreyLine windowOfImage(const Image<D>& image)
{
  constexpr std::size_t wanted = 1'000'000;
  std::vector<float> values;
  for (std::size_t i = 0; i < image.voxels.size(); i += image.voxels.size() / wanted + 1)
    values.push_back(image.voxels[i]);
  return windowOf(std::move(values));
}

template <int D>
GreyLine zScoreOf(const Image<D>& image, const std::vector<std::uint8_t>& use)
{
  double n = 0, sum = 0, squares = 0;
  for (std::size_t i = 0; i < image.voxels.size(); ++i)
    if (use.empty() || use[i] != 0) {
      n += 1;
      sum += image.voxels[i];
      squares += static_cast<double>(image.voxels[i]) * image.voxels[i];
    }
  const double mean = sum / n, deviation = std::sqrt(std::max(0.0, squares / n - mean * mean));
  if (!(deviation > 0))
    return {};
  return {static_cast<float>(1 / deviation), static_cast<float>(-mean / deviation)};
}

std::array<std::uint8_t, 3> grey(float value)
{
  const std::uint8_t level = greyLevel(value);
  return {level, level, level};
}

}

template <int D>
Panel panelOf(const Image<D>& image, const Plane& plane, const Size<D>& voxel)
{
  const ImageGeometry<D>& g = image.geometry;
  const double pixelMm = *std::ranges::min_element(g.spacingMm);
  Size<D> stride;
  for (int d = 0; d < D; ++d)
    stride[d] = d == 0 ? 1 : stride[d - 1] * g.size[d - 1];
  std::size_t slice = 0;
  for (int d = 0; d < D; ++d)
    slice += d == plane.right || d == plane.down ? 0 : stride[d] * voxel[d];
  const auto xs = placesAlong(g.size[plane.right], g.spacingMm[plane.right], pixelMm, plane.fallsRight),
             ys = placesAlong(g.size[plane.down], g.spacingMm[plane.down], pixelMm, plane.fallsDown);
  Panel panel{xs.size(), ys.size(), {}};
  for (const Place& y : ys)
    for (const Place& x : xs) {
      const auto at = [&](std::size_t right, std::size_t down) {
        return image.voxels[slice + stride[plane.right] * right + stride[plane.down] * down];
      };
      const float above = at(x.below, y.below) + x.share * (at(x.above, y.below) - at(x.below, y.below));
      const float below = at(x.below, y.above) + x.share * (at(x.above, y.above) - at(x.below, y.above));
      panel.values.push_back(above + y.share * (below - above));
    }
  return panel;
}

template <int D>
Picture comparisonPicture(Comparison comparison, const Image<D>& first, const Image<D>& second,
                          const std::vector<std::uint8_t>& use, const Size<D>& voxel)
{
  const bool isDifference = comparison == Comparison::difference;
  const GreyLine ofFirst = isDifference ? zScoreOf<D>(first, use) : windowOfImage<D>(first),
                 ofSecond = isDifference ? zScoreOf<D>(second, use) : windowOfImage<D>(second);
  std::vector<std::pair<Panel, Panel>> panels;
  Picture picture;
  for (const Plane& plane : planesOf<D>(first.geometry.direction)) {
    panels.emplace_back(panelOf<D>(first, plane, voxel), panelOf<D>(second, plane, voxel));
    picture.width += panels.back().first.width + (panels.size() > 1 ? gapPixels : 0);
    picture.height = std::max(picture.height, panels.back().first.height);
  }
  picture.pixels.resize(picture.width * picture.height);
  std::size_t left = 0;
  for (const auto& [a, b] : panels) {
    const std::size_t square = std::max<std::size_t>(1, std::max(a.width, a.height) / 8);
    Panel shown = a;
    for (float& value : shown.values)
      value = greyLevel(ofFirst(value));
    const IndexedPicture edges = comparison == Comparison::edges ? edgeLines(shown) : IndexedPicture();
    for (std::size_t y = 0; y < a.height; ++y)
      for (std::size_t x = 0; x < a.width; ++x) {
        const std::size_t i = y * a.width + x;
        const float va = ofFirst(a.values[i]), vb = ofSecond(b.values[i]);
        picture.pixels[y * picture.width + left + x] = isDifference ? grey(127.5F + 127.5F / 3 * (vb - va))
                                                       : comparison == Comparison::edges
                                                           ? (hasLine(edges, x, y) ? edgeColour : grey(vb))
                                                       : (x / square + y / square) % 2 == 0 ? grey(va)
                                                                                            : grey(vb);
      }
    left += a.width + gapPixels;
  }
  return picture;
}

TESSERA_INSTANTIATE_FUNCTIONS(panelOf<D>, comparisonPicture<D>);

}
