#include "Core/Runs/Report/SlicePictures.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Math/VectorLength.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Pictures/EdgeLines.h"
#include "Core/Image/Pictures/PictureSlices.h"
#include "Core/Registration/Fields/TransformFields.h"
#include "Core/Registration/Samples/VoxelBatches.h"
#include "Core/Registration/Stage/KnownComponents.h"
#include "Core/Runs/Resampling/HostInterpolator.h"

#include <algorithm>
#include <cmath>
#include <functional>

namespace tessera {
namespace {

constexpr std::size_t slicesOfPlane = 7;
constexpr std::size_t wantedPixels[] = {385, 145}, maxPixels[] = {1024, 256}; // in 2D and 3D
constexpr std::size_t samplesOfWindow = 30'000;
constexpr std::size_t pixelsOfMap = 2; // maps are smooth: one value for so many pixels along each axis
constexpr std::size_t thumbnailPixels = 96;
const Colour edgeColour{255, 85, 0}; // one with blue and yellow that those who see few colours tell apart

/// The values of a slice, from which its colours are computed later.
struct SliceValues {
  std::size_t width = 0, height = 0;
  std::vector<std::uint8_t> fixed, before, warped; // grey values, or red, green and blue in turn
  std::vector<std::uint32_t> boxes; // of the grid in the moving image; the same number: the same box
  std::vector<float> displacementMm, determinants; // at every second pixel; empty: none
  std::vector<int> fixedLabels, warpedLabels, fixedMask, maskBefore, warpedMask; // empty: none
};

/// The range of the whole image: a mask of one side changes nothing.
template <int D>
GreyRange rangeOf(const ImagePointer<D>& image, const std::vector<ImagePointer<D>>& colours)
{
  return colours.empty() ? greyRangeOf(allSamples<D>(gridOfAbout<D>(samplesOfWindow, image, nullptr)).fixed)
                         : GreyRange{0, 255};
}

/// The slices of the box of what is not background, in the box of the mask if there is one.
template <int D>
std::vector<PictureSlice<D>> slicesOf(const ShownRun<D>& run, const GreyLine& window)
{
  const VoxelLattice<D> lattice = gridOfAbout<D>(samplesOfWindow, run.fixed, run.fixedMask);
  constexpr float leastGrey = 25;           // of 255
  constexpr double leastShareOfMost = 0.05; // of the samples in a slice
  std::array<std::vector<std::size_t>, D> bright;
  for (int d = 0; d < D; ++d)
    bright[d].resize(lattice.count[d]);
  Size<D> at{};
  for (std::size_t i = 0; i < lattice.positions(); ++i) {
    std::size_t voxel = 0;
    for (int d = D - 1; d >= 0; --d)
      voxel = voxel * run.fixed->geometry.size[d] + lattice.first[d] + at[d] * lattice.step[d];
    for (int d = 0; d < D; ++d)
      bright[d][at[d]] += window(run.fixed->voxels[voxel]) > leastGrey;
    for (int d = 0; d < D && ++at[d] == lattice.count[d]; ++d)
      at[d] = 0;
  }
  Size<D> first, last;
  for (int d = 0; d < D; ++d) {
    const double least = leastShareOfMost * static_cast<double>(*std::ranges::max_element(bright[d]));
    std::size_t from = 0, to = lattice.count[d] - 1;
    while (static_cast<double>(bright[d][from]) < least)
      ++from;
    while (static_cast<double>(bright[d][to]) < least)
      --to;
    first[d] = lattice.first[d] + from * lattice.step[d];
    last[d] = lattice.first[d] + to * lattice.step[d];
  }
  return pictureSlices<D>(run.fixed->geometry, run.headerDirection, first, last, slicesOfPlane,
                          wantedPixels[D - 2], maxPixels[D - 2]);
}

/// One for grey values, three for colours, none for labels that are not there.
template <int D>
using Channels = std::vector<std::unique_ptr<Interpolator<D>>>;

/// The images of a run.
template <int D>
struct SampledImages {
  Channels<D> fixed, moving, fixedLabels, movingLabels;

  SampledImages(const Registry& registry, const ShownRun<D>& run)
  {
    const auto prepare = [&](Channels<D>& channels, const char* name,
                             const std::vector<ImagePointer<D>>& images) {
      for (const ImagePointer<D>& image : images)
        channels.push_back(hostInterpolator<D>(registry, name, image));
    };
    using namespace knowncomponents;
    prepare(fixed, linearInterpolator, run.fixedColours.empty() ? std::vector{run.fixed} : run.fixedColours);
    prepare(moving, linearInterpolator,
            run.movingColours.empty() ? std::vector{run.moving} : run.movingColours);
    if (run.fixedLabels && run.movingLabels) {
      prepare(fixedLabels, nearestInterpolator, {run.fixedLabels});
      prepare(movingLabels, nearestInterpolator, {run.movingLabels});
    }
  }
};

/// Empty for a linear transform, and for one without derivatives.
template <int D>
std::vector<float> determinantsOf(Context& host, const TransformChain<D>* chain,
                                  const ImageGeometry<D>& lattice)
try {
  return isLinearChain<D>(chain) ? std::vector<float>()
                                 : jacobianDeterminants<D>(host, *chain, lattice).voxels;
} catch (const Error& error) {
  if (error.code() != ExitCode::usage)
    throw;
  return {};
}

template <int D>
SliceValues valuesOf(const ShownRun<D>& run, const SampledImages<D>& images, const RunPictures& pictures,
                     const PictureSlice<D>& slice)
{
  Context host{Device{}, 1};
  const ImageGeometry<D>& lattice = slice.lattice;
  const std::size_t count = lattice.voxelCount(), width = lattice.size[0];
  SliceValues values;
  values.width = width;
  values.height = lattice.size[1];
  values.fixed.resize(count * images.fixed.size());
  for (auto* moving : {&values.before, &values.warped})
    moving->resize(count * images.moving.size());
  values.boxes.resize(count);
  values.displacementMm.reserve(count / (pixelsOfMap * pixelsOfMap));

  std::array<float, batchCapacity> found;
  std::array<std::uint8_t, batchCapacity> inside;
  forEachVoxelBatch<D>(host, lattice, [&](std::size_t first, const PointBatch<D>& points) {
    const auto paint = [&](const Channels<D>& channels, const GreyLine& window, const PointBatch<D>& at,
                           std::vector<std::uint8_t>& pixels) {
      for (std::size_t c = 0; c < channels.size(); ++c) {
        channels[c]->evaluate(host, at.list(), found.data(), nullptr, inside.data());
        for (std::size_t i = 0; i < at.count; ++i)
          pixels[(first + i) * channels.size() + c] = inside[i] ? greyLevel(window(found[i])) : 0;
      }
    };
    const auto label = [&](const Channels<D>& images, const PointBatch<D>& at, std::vector<int>& to) {
      for (const auto& image : images) {
        image->evaluate(host, at.list(), found.data(), nullptr, inside.data());
        for (std::size_t i = 0; i < at.count; ++i)
          to.push_back(inside[i] ? static_cast<int>(found[i]) : 0);
      }
    };
    const auto mark = [&](const MaskPointer<D>& mask, const PointBatch<D>& at, std::vector<int>& to) {
      for (std::size_t i = 0; mask && i < at.count; ++i)
        to.push_back(mask->contains(at.list().point(i)));
    };
    const PointBatch<D> start = mappedPoints<D>(run.before, points),
                        mapped = mappedPoints<D>(run.result, points);
    paint(images.fixed, pictures.greyRanges[0].line(), points, values.fixed);
    paint(images.moving, pictures.greyRanges[1].line(), start, values.before);
    mark(run.fixedMask, points, values.fixedMask);
    mark(run.movingMask, start, values.maskBefore);
    if (run.result) {
      paint(images.moving, pictures.greyRanges[1].line(), mapped, values.warped);
      mark(run.movingMask, mapped, values.warpedMask);
    }
    label(images.fixedLabels, points, values.fixedLabels);
    label(images.movingLabels, mapped, values.warpedLabels);
    std::size_t x = first % width, y = first / width;
    for (std::size_t i = 0; i < points.count; ++i) {
      for (int axis = 0; axis < 2; ++axis) {
        double mm = 0;
        for (int d = 0; d < D; ++d)
          mm += lattice.direction[d][axis] * mapped.mm[d][i];
        constexpr double aboveZero = 1U << 30; // where a conversion to an integer rounds down
        const auto box = static_cast<std::int64_t>(static_cast<float>(mm) / pictures.gridMm + aboveZero);
        values.boxes[first + i] = values.boxes[first + i] * 65'599U + static_cast<std::uint32_t>(box);
      }
      if (x % pixelsOfMap == 0 && y % pixelsOfMap == 0)
        values.displacementMm.push_back(
            static_cast<float>(distanceBetween<D>(mapped.list().point(i), points.list().point(i))));
      y += ++x == width;
      x = x == width ? 0 : x;
    }
  });
  values.determinants = determinantsOf<D>(host, run.result, everyNthPixel<D>(lattice, pixelsOfMap));
  return values;
}

/// Marks pixels in another box of the grid than the one to the right or below.
std::string gridPicture(const SliceValues& values)
{
  IndexedPicture picture{values.width, values.height, {}};
  for (std::size_t y = 0, i = 0; y < values.height; ++y)
    for (std::size_t x = 0; x < values.width; ++x, ++i)
      picture.pixels.push_back(
          (x + 1 < values.width && values.boxes[i] != values.boxes[i + 1])
          || (y + 1 < values.height && values.boxes[i] != values.boxes[i + values.width]));
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
    grey.values.push_back(
        channels == 1 ? pixels[i] : 0.2125F * pixels[i] + 0.7154F * pixels[i + 1] + 0.0721F * pixels[i + 2]);
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

/// A map of every second pixel. A share above 1 has the last colour.
template <class ShareOf>
std::string mapPicture(const SliceValues& slice, const std::vector<float>& values,
                       const std::vector<Colour>& colours, const ShareOf& shareOf)
{
  IndexedPicture picture{
      (slice.width + pixelsOfMap - 1) / pixelsOfMap, (slice.height + pixelsOfMap - 1) / pixelsOfMap, {}};
  for (const float value : values) {
    const double share = shareOf(value);
    picture.pixels.push_back(static_cast<std::uint8_t>(
        share > 1 ? scaleColours : std::max(share, 0.0) * (scaleColours - 1) + 0.5));
  }
  return pngBytes(picture, colours, false);
}

/// Leaves out outlines that find no room: of masks, and of labels, in all slices, the shortest first. Returns
/// the bytes of the others and of landmarks.
std::size_t boundOutlines(RunPictures& pictures)
{
  const auto bytesOf = [](const SlicePicture::Label& label) {
    return label.fixed.size() + label.warped.size() + 150;
  };
  std::size_t taken = 0, landmarks = 0;
  std::map<std::int64_t, std::size_t> bytes;
  for (SlicePicture& slice : pictures.slices) {
    for (std::string* mask : {&slice.fixedMask, &slice.maskBefore, &slice.warpedMask})
      if (taken + mask->size() > maxOutlineBytes) {
        mask->clear();
        pictures.leavesMasksOut = true;
      } else
        taken += mask->size();
    for (const auto& [number, label] : slice.labels)
      bytes[number] += bytesOf(label);
    landmarks += slice.landmarks.size();
  }
  std::vector<std::pair<std::size_t, std::int64_t>> longestFirst;
  for (const auto& [label, size] : bytes)
    longestFirst.emplace_back(size, label);
  std::ranges::sort(longestFirst, std::greater());
  for (const auto& [size, label] : longestFirst)
    if (taken + size <= maxOutlineBytes)
      taken += size;
    else
      bytes.erase(label);
  pictures.labelsLeftOut = longestFirst.size() - bytes.size();
  for (SlicePicture& slice : pictures.slices)
    std::erase_if(slice.labels, [&](const auto& label) { return !bytes.contains(label.first); });
  return taken + 300 * landmarks;
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
  for (std::size_t panel = 0; panel < (hasResult ? 3 : 2); ++panel) {
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
  const SampledImages<D> images(registry, run);
  RunPictures pictures;
  pictures.greyRanges =
      greyRangesOf(rangeOf<D>(run.fixed, run.fixedColours), rangeOf<D>(run.moving, run.movingColours));
  pictures.areColours = !run.fixedColours.empty() && !run.movingColours.empty();
  pictures.gridMm = roundStepMm<D>(run.fixed->geometry);
  std::vector<PictureSlice<D>> slices = slicesOf<D>(run, pictures.greyRanges[0].line());
  for (PictureSlice<D>& slice : slices)
    if (!run.overTime.empty())
      nameByTime<D>(slice, run.fixed->geometry);
  std::vector<SliceValues> values(slices.size());
  forEachChunk(host, slices.size(),
               [&](std::size_t i) { values[i] = valuesOf<D>(run, images, pictures, slices[i]); });
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
    picture.displacement =
        mapPicture(v, v.displacementMm, displacementColours, [mostMm](float mm) { return mm / mostMm; });
    if (!v.determinants.empty())
      picture.determinants = mapPicture(v, v.determinants, determinantColours, [](float value) {
        return value > 0 ? std::min(1.0, 0.5 + 0.5 * std::log2(value) / 2) : 2;
      });
  });
  addLandmarks<D>(run, slices, pictures.slices);
  pictures.overTime = run.overTime;
  const std::size_t textBytes = boundOutlines(pictures) + run.overTime.size(); // which need no base64
  const auto isTooLong = [&] {
    std::size_t bytes = textBytes * 3 / 4;
    for (const SlicePicture& slice : pictures.slices)
      for (const PictureLayer& layer : pictureLayers)
        bytes += (slice.*layer.picture).size();
    return bytes > maxPictureBytes;
  };
  for (const int quality : {85, 70, 50, 30}) {
    forEachChunk(host, slices.size(), [&](std::size_t i) {
      const SliceValues& v = values[i];
      for (const auto& [from, to] : {std::pair{&v.fixed, &SlicePicture::fixed},
                                     {&v.before, &SlicePicture::before},
                                     {&v.warped, &SlicePicture::warped}})
        if (run.result || from != &v.warped)
          pictures.slices[i].*to = jpegBytes(*from, v.width, v.height, quality);
    });
    if (!isTooLong())
      break;
  }
  const std::string plane = slices.front().plane;
  pictures.thumbnail = thumbnailOf(
      values[static_cast<std::size_t>(std::ranges::count(slices, plane, &PictureSlice<D>::plane)) / 2],
      run.result != nullptr);
  while (isTooLong() && pictures.slices.size() > 1)
    for (std::size_t i = 1; i < pictures.slices.size(); ++i)
      pictures.slices.erase(pictures.slices.begin() + static_cast<std::ptrdiff_t>(i));
  return pictures;
}

TESSERA_INSTANTIATE_FUNCTIONS(runPictures<D>);

}
