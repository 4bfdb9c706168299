#include "Core/Runs/Report/SlicePictures.h"

#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Pictures/Contours.h"
#include "Core/Image/Pictures/EdgeLines.h"
#include "Core/Registration/Chain/MappedPoint.h"
#include "Core/Runs/Report/SliceValues.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace tessera {
namespace {

constexpr std::size_t mapColours = 64;
constexpr float largestLogDeterminant = 1.3862944F; // of 4
constexpr std::size_t thumbnailPixels = 96;
const Colour edgeColour{255, 85, 0}; // one with blue and yellow that those who see few colours tell apart

/// Colours between those given, in equal steps.
std::vector<Colour> colourScale(const std::vector<Colour>& given)
{
  std::vector<Colour> scale;
  for (std::size_t i = 0; i < mapColours; ++i) {
    const double place = static_cast<double>(i) * static_cast<double>(given.size() - 1) / (mapColours - 1);
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

IndexedPicture blank(std::size_t width, std::size_t height)
{
  return {width, height, std::vector<std::uint8_t>(width * height)};
}

/// Marks pixels in another box of the grid than the one to the right or below.
std::string gridPicture(const SliceValues& values)
{
  IndexedPicture picture = blank(values.width, values.height);
  for (std::size_t y = 0, i = 0; y < values.height; ++y)
    for (std::size_t x = 0; x < values.width; ++x, ++i)
      picture.pixels[i] = (x + 1 < values.width && values.boxes[i] != values.boxes[i + 1])
                          || (y + 1 < values.height && values.boxes[i] != values.boxes[i + values.width]);
  return pngBytes(picture, {{0, 0, 0}, {0, 230, 118}}, true);
}

/// Contours of both maps; those of a label that one of them lacks here are empty.
std::map<std::int64_t, SlicePicture::Label> labelContours(const SliceValues& values,
                                                          const std::vector<std::int64_t>& names)
{
  std::map<std::int64_t, SlicePicture::Label> labels;
  for (const auto& [map, to] : {std::pair{&values.fixedLabels, &SlicePicture::Label::fixed},
                                {&values.warpedLabels, &SlicePicture::Label::warped}})
    for (const auto& [number, path] : contours(*map, values.width))
      labels[names.empty() ? number : names[static_cast<std::size_t>(number)]].*to = path;
  return labels;
}

IndexedPicture edgePicture(const std::vector<std::uint8_t>& pixels, std::size_t width, std::size_t height)
{
  Panel grey{width, height, {}};
  const std::size_t channels = pixels.size() / (width * height);
  for (std::size_t i = 0; i < pixels.size(); i += channels)
    grey.values.push_back(luminanceOf(&pixels[i], channels));
  return edgeLines(grey);
}

/// Puts each landmark into the nearest slice of each plane.
template <int D>
void addLandmarks(const ShownRun<D>& run, const std::vector<PictureSlice<D>>& slices,
                  std::vector<SlicePicture>& pictures)
{
  for (std::size_t i = 0; i < std::min(run.points.fixedMm.size(), run.points.movingMm.size()); ++i) {
    const Vec<D>& pointMm = run.points.fixedMm[i];
    const auto shownBy = [&](const TransformChain<D>* chain) {
      const Vec<D> mappedMm = chain ? mappedPoint<D>(*chain, pointMm) : pointMm;
      Vec<D> shownMm = pointMm;
      for (int d = 0; d < D; ++d)
        shownMm[d] += run.points.movingMm[i][d] - mappedMm[d];
      return shownMm;
    };
    std::map<std::string, std::pair<double, std::size_t>> nearest; // by the plane
    for (std::size_t s = 0; s < slices.size(); ++s) {
      const double away = D == 3 ? std::abs(slices[s].lattice.indexFromPoint()(pointMm)[D - 1]) : 0;
      auto& found = nearest.try_emplace(slices[s].plane, away, s).first->second;
      found = std::min(found, {away, s});
    }
    for (const auto& [plane, found] : nearest) {
      const auto placeOf = [index = slices[found.second].lattice.indexFromPoint()](const Vec<D>& mm) {
        return SlicePicture::Landmark::Place{2 * index(mm)[0] + 1, 2 * index(mm)[1] + 1};
      };
      pictures[found.second].landmarks.push_back({placeOf(pointMm), placeOf(shownBy(run.before)),
                                                  placeOf(shownBy(run.result ? run.result : run.before))});
    }
  }
}

/// A map of every second pixel.
template <class ColourOf>
std::string mapPicture(const SliceValues& slice, const std::vector<float>& values,
                       const std::vector<Colour>& colours, const ColourOf& colourOf)
{
  IndexedPicture picture =
      blank((slice.width + pixelsOfMap - 1) / pixelsOfMap, (slice.height + pixelsOfMap - 1) / pixelsOfMap);
  std::ranges::transform(values, picture.pixels.begin(),
                         [&](float value) { return static_cast<std::uint8_t>(colourOf(value)); });
  return pngBytes(picture, colours, false);
}

std::size_t bytesOf(const SlicePicture::Label& label)
{
  return label.fixed.size() + label.warped.size() + 150;
}

std::size_t bytesOf(const RunPictures& pictures)
{
  std::size_t bytes = 0, text = 0; // which needs no base64
  for (const SlicePicture& slice : pictures.slices) {
    for (const PictureLayer& layer : pictureLayers)
      bytes += (slice.*layer.picture).size();
    text += slice.fixedMask.size() + slice.maskBefore.size() + slice.warpedMask.size()
            + 300 * slice.landmarks.size();
    for (const auto& [number, label] : slice.labels)
      text += bytesOf(label);
  }
  return bytes + text * 3 / 4;
}

/// Leaves out outlines that find no room: of masks, and of labels, in all slices, the shortest first.
void boundOutlines(RunPictures& pictures)
{
  std::size_t room = maxOutlineBytes;
  std::map<std::int64_t, std::size_t> bytes;
  for (SlicePicture& slice : pictures.slices) {
    for (std::string* mask : {&slice.fixedMask, &slice.maskBefore, &slice.warpedMask})
      if (mask->size() > room) {
        mask->clear();
        pictures.leavesMasksOut = true;
      } else
        room -= mask->size();
    for (const auto& [number, label] : slice.labels)
      bytes[number] += bytesOf(label);
  }
  std::vector<std::pair<std::size_t, std::int64_t>> longestFirst;
  for (const auto& [label, size] : bytes)
    longestFirst.emplace_back(size, label);
  std::ranges::sort(longestFirst, std::greater());
  for (const auto& [size, label] : longestFirst)
    if (size <= room)
      room -= size;
    else
      bytes.erase(label);
  pictures.labelsLeftOut = longestFirst.size() - bytes.size();
  for (SlicePicture& slice : pictures.slices)
    std::erase_if(slice.labels, [&](const auto& label) { return !bytes.contains(label.first); });
}

/// Red, green and blue of a picture as large as a square of thumbnailPixels allows: means of its pixels.
std::vector<std::uint8_t> inSquare(const std::vector<std::uint8_t>& pixels, int width, int height)
{
  constexpr int n = thumbnailPixels;
  const int side = std::max(width, height), channels = static_cast<int>(pixels.size()) / (width * height);
  const auto pixelsOf = [side](int cell, int size) { // the first, and the one after the last
    const int margin = (side - size) / 2, first = cell * side / n - margin;
    const int end = std::max((cell + 1) * side / n - margin, first + 1);
    return std::array{std::clamp(first, 0, size), std::clamp(end, 0, size)};
  };
  std::vector<std::uint8_t> rgb;
  for (int i = 0; i < 3 * n * n; ++i) {
    const auto [top, bottom] = pixelsOf(i / 3 / n, height);
    const auto [left, right] = pixelsOf(i / 3 % n, width);
    int sum = 0;
    for (int y = top; y < bottom; ++y)
      for (int x = left; x < right; ++x)
        sum += pixels[static_cast<std::size_t>((y * width + x) * channels + i % 3 % channels)];
    rgb.push_back(static_cast<std::uint8_t>(sum / std::max(1, (bottom - top) * (right - left))));
  }
  return rgb;
}

/// Fixed, before and (if there is a result) warped with the edges of the fixed side by side.
std::string thumbnailOf(const SliceValues& values, bool hasResult)
{
  constexpr std::size_t n = thumbnailPixels;
  std::vector<std::uint8_t> rgb(3 * n * 3 * n);
  IndexedPicture edges;
  for (const std::size_t panel : {0, 1, 2}) {
    if (panel == 2 && !hasResult)
      break;
    const auto& pixels = panel == 0 ? values.fixed : panel == 1 ? values.before : values.warped;
    const std::vector<std::uint8_t> square =
        inSquare(pixels, static_cast<int>(values.width), static_cast<int>(values.height));
    if (panel == 0)
      edges = edgePicture(square, n, n);
    for (std::size_t i = 0; i < square.size(); ++i) {
      const std::size_t c = i % 3, x = i / 3 % n, y = i / 3 / n;
      const bool isGap = panel > 0 && x < 2, isEdge = panel == 2 && hasLine(edges, x, y);
      rgb[3 * (y * 3 * n + panel * n + x) + c] = isGap ? 0 : isEdge ? edgeColour[c] : square[i];
    }
  }
  return jpegBytes(rgb, 3 * n, n, 85);
}

}

const std::array<PictureLayer, 7> pictureLayers{
    {{"f", "jpeg", &SlicePicture::fixed, "fixed image"},
     {"b", "jpeg", &SlicePicture::before, "moving image before the registration"},
     {"w", "jpeg", &SlicePicture::warped, "warped moving image"},
     {"d", "png", &SlicePicture::determinants, "determinant of the spatial Jacobian"},
     {"u", "png", &SlicePicture::displacement, "length of the displacement"},
     {"e", "png", &SlicePicture::edges, "edges of the fixed image"},
     {"g", "png", &SlicePicture::grid, "grid of the moving image"}}};

const std::vector<Colour> determinantColours = [] {
  std::vector<Colour> scale =
      colourScale({{5, 48, 97}, {67, 147, 195}, {247, 247, 247}, {214, 96, 77}, {103, 0, 31}});
  scale.push_back({255, 230, 0});
  return scale;
}();
const std::vector<Colour> displacementColours =
    colourScale({{68, 1, 84}, {59, 82, 139}, {33, 145, 140}, {94, 201, 98}, {253, 231, 37}});
const std::vector<Colour> diceColours =
    colourScale({{215, 25, 28}, {253, 174, 97}, {255, 255, 191}, {116, 173, 209}, {49, 84, 180}});

template <int D>
RunPictures runPictures(const Context& context, const Registry& registry, const ShownRun<D>& run)
{
  const Context host = context.onCpu();
  const SampledSlices<D> sampled = sampledSlices<D>(host, registry, run);
  const auto& slices = sampled.slices;
  const std::vector<SliceValues>& values = sampled.values;
  RunPictures pictures;
  pictures.greyRanges = sampled.greyRanges;
  pictures.areColours = !run.fixedColours.empty() && !run.movingColours.empty();
  pictures.gridMm = sampled.gridMm;
  pictures.slices.resize(slices.size());
  for (const SliceValues& v : values)
    for (const float mm : v.displacementMm)
      pictures.largestDisplacementMm = std::max(pictures.largestDisplacementMm, static_cast<double>(mm));
  forEachChunk(host, slices.size(), [&](std::size_t i) {
    const SliceValues& v = values[i];
    SlicePicture& picture = pictures.slices[i];
    picture.plane = slices[i].plane;
    picture.position = slices[i].position;
    picture.letters = slices[i].letters;
    picture.width = v.width;
    picture.height = v.height;
    picture.fixedMask = contours(v.fixedMask, v.width)[1];
    picture.maskBefore = contours(v.maskBefore, v.width)[1];
    picture.warpedMask = contours(v.warpedMask, v.width)[1];
    if (!run.result)
      return;
    picture.edges = pngBytes(edgePicture(v.fixed, v.width, v.height), {{0, 0, 0}, edgeColour}, true);
    picture.grid = gridPicture(v);
    picture.labels = labelContours(v, run.labels);
    const double mostMm = std::max(pictures.largestDisplacementMm, 1e-30);
    picture.displacement = mapPicture(v, v.displacementMm, displacementColours,
                                      [mostMm](float mm) { return colourOf(mm / mostMm); });
    if (!v.determinants.empty())
      picture.determinants = mapPicture(v, v.determinants, determinantColours, [](float value) {
        return value > 0 ? colourOf(0.5 + 0.5 * std::log(value) / largestLogDeterminant) : mapColours;
      });
  });
  addLandmarks<D>(run, slices, pictures.slices);
  boundOutlines(pictures);
  for (const int quality : {85, 70, 50, 30}) {
    forEachChunk(host, slices.size(), [&](std::size_t i) {
      const SliceValues& v = values[i];
      const auto encoded = [&](const std::vector<std::uint8_t>& pixels) {
        return jpegBytes(pixels, v.width, v.height, quality);
      };
      pictures.slices[i].fixed = encoded(v.fixed);
      pictures.slices[i].before = encoded(v.before);
      if (run.result)
        pictures.slices[i].warped = encoded(v.warped);
    });
    if (bytesOf(pictures) <= maxPictureBytes)
      break;
  }
  const std::string plane = slices.front().plane;
  pictures.thumbnail = thumbnailOf(
      values[static_cast<std::size_t>(std::ranges::count(slices, plane, &PictureSlice<D>::plane)) / 2],
      run.result != nullptr);
  while (bytesOf(pictures) > maxPictureBytes && pictures.slices.size() > 1)
    for (std::size_t i = 1; i < pictures.slices.size(); ++i)
      pictures.slices.erase(pictures.slices.begin() + static_cast<std::ptrdiff_t>(i));
  return pictures;
}

TESSERA_INSTANTIATE_FUNCTIONS(runPictures<D>);

}
