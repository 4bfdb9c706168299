#include "Core/Image/Pictures/ComparisonPictures.h"

#include "Core/Image/Pictures/EdgeLines.h"
#include "Core/Image/Pictures/PictureSlices.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr std::array<std::uint8_t, 3> edgeColour{255, 150, 0};
constexpr std::size_t gapPixels = 4;

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
std::vector<Panel> panelsThrough(const Image<D>& image, const Size<D>& voxel)
{
  const Size<D>& size = image.geometry.size;
  constexpr std::size_t anyNumber = std::size_t(1) << 31;
  std::vector<Panel> panels;
  for (const auto& slice :
       pictureSlices<D>(image.geometry, image.geometry.direction, voxel, voxel, 1, 0, anyNumber)) {
    const AffineMap<D> pointFromPixel = slice.lattice.pointFromIndex(),
                       indexFromPoint = image.geometry.indexFromPoint();
    Panel panel{slice.lattice.size[0], slice.lattice.size[1], {}};
    for (std::size_t pixel = 0; pixel < panel.width * panel.height; ++pixel) {
      Vec<D> at{static_cast<double>(pixel % panel.width), static_cast<double>(pixel / panel.width)};
      at = indexFromPoint(pointFromPixel(at));
      double sum = 0;
      for (std::size_t corner = 0; corner < 1U << D; ++corner) {
        double weight = 1;
        std::size_t from = 0;
        for (int d = D - 1; d >= 0; --d) {
          const double along = std::clamp(at[d], 0.0, static_cast<double>(size[d] - 1)),
                       below = std::floor(along);
          weight *= corner >> d & 1 ? along - below : 1 - (along - below);
          from = from * size[d] + std::min(static_cast<std::size_t>(below) + (corner >> d & 1), size[d] - 1);
        }
        if (weight > 1e-9) // what does not count may be NaN
          sum += weight * image.voxels[from];
      }
      panel.values.push_back(static_cast<float>(sum));
    }
    panels.push_back(std::move(panel));
  }
  return panels;
}

template <int D>
Picture comparisonPicture(Comparison comparison, const Image<D>& first, const Image<D>& second,
                          const std::vector<std::uint8_t>& use, const Size<D>& voxel)
{
  const bool isDifference = comparison == Comparison::difference;
  const GreyLine ofFirst = isDifference ? zScoreOf<D>(first, use) : windowOfImage<D>(first),
                 ofSecond = isDifference ? zScoreOf<D>(second, use) : windowOfImage<D>(second);
  const std::vector<Panel> ofA = panelsThrough<D>(first, voxel), ofB = panelsThrough<D>(second, voxel);
  Picture picture;
  for (const Panel& panel : ofA) {
    picture.width += panel.width + (picture.width > 0 ? gapPixels : 0);
    picture.height = std::max(picture.height, panel.height);
  }
  picture.pixels.resize(picture.width * picture.height);
  std::size_t left = 0;
  for (std::size_t p = 0; p < ofA.size(); ++p) {
    const Panel &a = ofA[p], &b = ofB[p];
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

TESSERA_INSTANTIATE_FUNCTIONS(panelsThrough<D>, comparisonPicture<D>);

}
