#include "Core/Runs/Report/SlicePictures.h"

#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Pictures/PictureBytes.h"
#include "Core/Image/Pictures/PictureParts.h"
#include "Core/Runs/Report/SliceValues.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr std::size_t mapColours = 64;
constexpr float largestLogDeterminant = 1.3862944F; // of 4
constexpr std::size_t thumbnailPixels = 96;
const Colour edgeColour{255, 150, 0};

/// Colours between those given, in equal steps.
std::vector<Colour> colourScale(const std::vector<Colour>& given, std::size_t count)
{
  std::vector<Colour> scale;
  for (std::size_t i = 0; i < count; ++i) {
    const double place =
        static_cast<double>(i) * static_cast<double>(given.size() - 1) / static_cast<double>(count - 1);
    const std::size_t below = std::min(static_cast<std::size_t>(place), given.size() - 2);
    Colour colour;
    for (std::size_t c = 0; c < 3; ++c) {
      const double a = given[below][c], b = given[below + 1][c];
      colour[c] = static_cast<std::uint8_t>(std::lround(a + (place - static_cast<double>(below)) * (b - a)));
    }
    scale.push_back(colour);
  }
  return scale;
}

std::size_t colourOf(double share)
{
  return static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * (mapColours - 1) + 0.5);
}

/// Pixels that differ from the one to the right or below.
template <class Differ>
void markBorders(IndexedPicture& picture, std::uint8_t mark, Differ&& differ)
{
  for (std::size_t y = 0; y < picture.height; ++y)
    for (std::size_t x = 0; x < picture.width; ++x) {
      const std::size_t i = y * picture.width + x;
      if ((x + 1 < picture.width && differ(i, i + 1))
          || (y + 1 < picture.height && differ(i, i + picture.width)))
        picture.pixels[i] |= mark;
    }
}

IndexedPicture blank(std::size_t width, std::size_t height)
{
  return {width, height, std::vector<std::uint8_t>(width * height)};
}

std::string gridPicture(const SliceValues& values, double gridMm)
{
  IndexedPicture picture = blank(values.fixed.width, values.fixed.height);
  for (const std::vector<float>& mm : values.movingMm)
    markBorders(picture, 1, [&](std::size_t a, std::size_t b) {
      return std::floor(mm[a] / gridMm) != std::floor(mm[b] / gridMm);
    });
  return pngBytes(picture, {{0, 0, 0}, {0, 230, 118}}, true);
}

std::string labelPicture(const SliceValues& values)
{
  IndexedPicture picture = blank(values.fixed.width, values.fixed.height);
  std::uint8_t mark = 1;
  for (const std::vector<int>* labels : {&values.fixedLabels, &values.warpedLabels}) {
    markBorders(picture, mark, [&](std::size_t a, std::size_t b) { return (*labels)[a] != (*labels)[b]; });
    mark = 2;
  }
  return pngBytes(picture, {{0, 0, 0}, {0, 200, 255}, {255, 120, 0}, {255, 255, 255}}, true);
}

IndexedPicture edgePicture(const Panel& fixed)
{
  IndexedPicture picture = blank(fixed.width, fixed.height);
  std::ranges::copy(edgesOf(fixed), picture.pixels.begin());
  return picture;
}

std::string determinantPicture(const SliceValues& values)
{
  IndexedPicture picture = blank((values.fixed.width + pixelsOfMap - 1) / pixelsOfMap,
                                 (values.fixed.height + pixelsOfMap - 1) / pixelsOfMap);
  for (std::size_t i = 0; i < picture.pixels.size(); ++i) {
    const float value = values.determinants[i];
    picture.pixels[i] = static_cast<std::uint8_t>(
        value > 0 ? colourOf(0.5 + 0.5 * std::log(value) / largestLogDeterminant) : mapColours);
  }
  return pngBytes(picture, determinantColours(), false);
}

std::string displacementPicture(const SliceValues& values, double largestMm)
{
  IndexedPicture picture = blank((values.fixed.width + pixelsOfMap - 1) / pixelsOfMap,
                                 (values.fixed.height + pixelsOfMap - 1) / pixelsOfMap);
  for (std::size_t i = 0; i < picture.pixels.size(); ++i)
    picture.pixels[i] =
        static_cast<std::uint8_t>(colourOf(largestMm > 0 ? values.displacementMm[i] / largestMm : 0));
  return pngBytes(picture, displacementColours(), false);
}

std::size_t bytesOf(const RunPictures& pictures)
{
  std::size_t bytes = 0;
  for (const SlicePicture& slice : pictures.slices)
    for (const std::string* picture : {&slice.fixed, &slice.before, &slice.warped, &slice.edges,
                                       &slice.labels, &slice.grid, &slice.determinants, &slice.displacement})
      bytes += picture->size();
  return bytes;
}

/// 1, 2 or 5 times a power of 10: about a twentieth of the largest side.
template <int D>
double gridMmOf(const ImageGeometry<D>& geometry)
{
  double sideMm = 0;
  for (int d = 0; d < D; ++d)
    sideMm = std::max(sideMm, static_cast<double>(geometry.size[d]) * geometry.spacingMm[d]);
  const double power = std::pow(10, std::floor(std::log10(sideMm / 20)));
  const double times = sideMm / 20 / power;
  return power * (times < 1.5 ? 1 : times < 3.5 ? 2 : times < 7.5 ? 5 : 10);
}

/// Fixed, before and (if there is a result) warped side by side, each as large as a square of thumbnailPixels
/// allows.
std::string thumbnailOf(const SliceValues& values, bool hasResult)
{
  const std::size_t w = values.fixed.width, h = values.fixed.height, side = std::max(w, h);
  const IndexedPicture edges = edgePicture(values.fixed);
  std::vector<std::uint8_t> rgb(3 * 3 * thumbnailPixels * thumbnailPixels);
  std::size_t panel = 0;
  for (const auto* grey : {&values.fixedGrey, &values.beforeGrey, &values.warpedGrey}) {
    if (panel == 2 && !hasResult)
      break;
    for (std::size_t y = 0; y < thumbnailPixels; ++y)
      for (std::size_t x = 0; x < thumbnailPixels; ++x) {
        // The mean of the pixels that lie in this one, or the one that it lies in.
        const auto range = [&](std::size_t place, std::size_t size) {
          const auto at = [&](std::size_t p) {
            return (static_cast<double>(p) / thumbnailPixels - 0.5) * static_cast<double>(side)
                   + static_cast<double>(size) / 2;
          };
          const auto first = static_cast<std::ptrdiff_t>(std::floor(at(place))),
                     last = static_cast<std::ptrdiff_t>(std::ceil(at(place + 1)));
          return std::pair(first, std::max(last, first + 1));
        };
        const auto [left, right] = range(x, w);
        const auto [top, bottom] = range(y, h);
        double sum = 0, count = 0;
        bool isEdge = false;
        for (std::ptrdiff_t v = std::max<std::ptrdiff_t>(top, 0); v < std::min<std::ptrdiff_t>(bottom, h);
             ++v)
          for (std::ptrdiff_t u = std::max<std::ptrdiff_t>(left, 0); u < std::min<std::ptrdiff_t>(right, w);
               ++u) {
            sum += (*grey)[static_cast<std::size_t>(v) * w + static_cast<std::size_t>(u)];
            isEdge = isEdge || edges.pixels[static_cast<std::size_t>(v) * w + static_cast<std::size_t>(u)];
            count += 1;
          }
        std::uint8_t* pixel = &rgb[3 * (y * 3 * thumbnailPixels + panel * thumbnailPixels + x)];
        const bool isGap = panel > 0 && x < 2;
        const std::uint8_t level = count > 0 && !isGap ? greyLevel(static_cast<float>(sum / count)) : 0;
        for (std::size_t c = 0; c < 3; ++c)
          pixel[c] = panel == 2 && isEdge && !isGap ? edgeColour[c] : level;
      }
    ++panel;
  }
  return jpegBytes(rgb, 3 * thumbnailPixels, thumbnailPixels, 85);
}

}

const std::vector<Colour>& determinantColours()
{
  static const std::vector<Colour> colours = [] {
    std::vector<Colour> scale =
        colourScale({{5, 48, 97}, {67, 147, 195}, {247, 247, 247}, {214, 96, 77}, {103, 0, 31}}, mapColours);
    scale.push_back({255, 230, 0});
    return scale;
  }();
  return colours;
}

const std::vector<Colour>& displacementColours()
{
  static const std::vector<Colour> colours =
      colourScale({{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}}, mapColours);
  return colours;
}

template <int D>
RunPictures runPictures(const Context& context, const Registry& registry, const ShownRun<D>& run)
{
  const SliceSampler<D> sampler(registry, run);
  const auto& slices = sampler.slices();
  const Context host = context.onCpu();
  RunPictures pictures;
  pictures.greyRanges = sampler.greyRanges();
  pictures.gridMm = gridMmOf<D>(run.fixed->geometry);
  pictures.slices.resize(slices.size());
  std::vector<SliceValues> values(slices.size());
  forEachChunk(host, slices.size(), [&](std::size_t i) {
    values[i] = sampler.valuesOf(slices[i]);
    const SliceValues& v = values[i];
    SlicePicture& picture = pictures.slices[i];
    picture.plane = slices[i].plane;
    picture.position = slices[i].position;
    picture.letters = slices[i].letters;
    picture.width = v.fixed.width;
    picture.height = v.fixed.height;
    if (!run.result)
      return;
    picture.edges = pngBytes(edgePicture(v.fixed), {{0, 0, 0}, edgeColour}, true);
    picture.grid = gridPicture(v, pictures.gridMm);
    if (!v.fixedLabels.empty())
      picture.labels = labelPicture(v);
    if (!v.determinants.empty())
      picture.determinants = determinantPicture(v);
  });
  for (const SliceValues& v : values)
    for (const float mm : v.displacementMm)
      pictures.largestDisplacementMm = std::max(pictures.largestDisplacementMm, static_cast<double>(mm));
  forEachChunk(host, run.result ? slices.size() : 0, [&](std::size_t i) {
    pictures.slices[i].displacement = displacementPicture(values[i], pictures.largestDisplacementMm);
  });
  for (const int quality : {85, 70, 50, 30}) {
    forEachChunk(host, slices.size(), [&](std::size_t i) {
      const SliceValues& v = values[i];
      const auto encoded = [&](const std::vector<std::uint8_t>& grey) {
        return jpegBytes(grey, v.fixed.width, v.fixed.height, quality);
      };
      pictures.slices[i].fixed = encoded(v.fixedGrey);
      pictures.slices[i].before = encoded(v.beforeGrey);
      if (run.result)
        pictures.slices[i].warped = encoded(v.warpedGrey);
    });
    if (bytesOf(pictures) <= maxPictureBytes)
      break;
  }
  const std::string plane = slices.front().plane;
  pictures.thumbnail = thumbnailOf(
      values[static_cast<std::size_t>(std::ranges::count(slices, plane, &PictureSlice<D>::plane)) / 2],
      run.result != nullptr);
  while (bytesOf(pictures) > maxPictureBytes && pictures.slices.size() > 1) {
    std::vector<SlicePicture> kept;
    for (std::size_t i = 0; i < pictures.slices.size(); i += 2)
      kept.push_back(std::move(pictures.slices[i]));
    pictures.slices = std::move(kept);
  }
  return pictures;
}

TESSERA_INSTANTIATE_FUNCTIONS(runPictures<D>);

}
