#include "Core/Runs/Report/SliceValues.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Math/VectorLength.h"
#include "Core/Registration/Fields/TransformFields.h"
#include "Core/Registration/Samples/VoxelBatches.h"
#include "Core/Registration/Stage/KnownComponents.h"
#include "Core/Runs/Resampling/HostInterpolator.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr std::size_t slicesOfPlane = 7;
constexpr std::size_t wantedPixels[] = {385, 145}, maxPixels[] = {1024, 256}; // in 2D and 3D
constexpr std::size_t samplesOfWindow = 30'000;

/// Calls body(value, place in the lattice) for each sample.
template <int D, class Body>
void forEachSample(const Image<D>& image, const VoxelLattice<D>& lattice, Body&& body)
{
  Size<D> at{};
  for (std::size_t i = 0; i < lattice.positions(); ++i) {
    std::size_t voxel = 0;
    for (int d = D - 1; d >= 0; --d)
      voxel = voxel * image.geometry.size[d] + lattice.first[d] + at[d] * lattice.step[d];
    body(image.voxels[voxel], at);
    for (int d = 0; d < D && ++at[d] == lattice.count[d]; ++d)
      at[d] = 0;
  }
}

/// The range of the whole image: a mask of one side changes nothing.
template <int D>
GreyRange rangeOf(const ImagePointer<D>& image, const std::vector<ImagePointer<D>>& colours)
{
  if (!colours.empty())
    return {0, 255};
  std::vector<float> values;
  forEachSample<D>(*image, gridOfAbout<D>(samplesOfWindow, image, nullptr),
                   [&](float value, const Size<D>&) { values.push_back(value); });
  return greyRangeOf(std::move(values));
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
  forEachSample<D>(*run.fixed, lattice, [&](float value, const Size<D>& at) {
    for (int d = 0; d < D; ++d)
      bright[d][at[d]] += window(value) > leastGrey;
  });
  Size<D> first, last;
  for (int d = 0; d < D; ++d) {
    const double least = leastShareOfMost * static_cast<double>(*std::ranges::max_element(bright[d]));
    bool isFirst = true;
    for (std::size_t n = 0; n < lattice.count[d]; ++n)
      if (static_cast<double>(bright[d][n]) >= least) {
        last[d] = lattice.first[d] + n * lattice.step[d];
        first[d] = isFirst ? last[d] : first[d];
        isFirst = false;
      }
  }
  return pictureSlices<D>(run.fixed->geometry, run.headerDirection, first, last, slicesOfPlane,
                          wantedPixels[D - 2], maxPixels[D - 2]);
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

/// The images of a run: one grey one a side, or three for colours; labels may be null.
template <int D>
struct SampledImages {
  std::vector<std::unique_ptr<Interpolator<D>>> fixed, moving;
  std::unique_ptr<Interpolator<D>> fixedLabels, movingLabels;

  SampledImages(const Registry& registry, const ShownRun<D>& run)
  {
    const auto prepare = [&](const ImagePointer<D>& grey, const std::vector<ImagePointer<D>>& colours,
                             auto& images) {
      for (const ImagePointer<D>& image : colours.empty() ? std::vector{grey} : colours)
        images.push_back(hostInterpolator<D>(registry, knowncomponents::linearInterpolator, image));
    };
    prepare(run.fixed, run.fixedColours, fixed);
    prepare(run.moving, run.movingColours, moving);
    if (run.fixedLabels && run.movingLabels) {
      fixedLabels = hostInterpolator<D>(registry, knowncomponents::nearestInterpolator, run.fixedLabels);
      movingLabels = hostInterpolator<D>(registry, knowncomponents::nearestInterpolator, run.movingLabels);
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
SliceValues valuesOf(const ShownRun<D>& run, const SampledImages<D>& images,
                     const std::array<GreyRange, 2>& greyRanges, double gridMm, const PictureSlice<D>& slice)
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
    const auto paint = [&](const auto& channels, const GreyLine& window, const PointBatch<D>& at,
                           std::vector<std::uint8_t>& pixels) {
      for (std::size_t c = 0; c < channels.size(); ++c) {
        channels[c]->evaluate(host, at.list(), found.data(), nullptr, inside.data());
        for (std::size_t i = 0; i < at.count; ++i)
          pixels[(first + i) * channels.size() + c] = inside[i] ? greyLevel(window(found[i])) : 0;
      }
    };
    const auto label = [&](const auto& image, const PointBatch<D>& at, std::vector<int>& to) {
      if (image)
        image->evaluate(host, at.list(), found.data(), nullptr, inside.data());
      for (std::size_t i = 0; image && i < at.count; ++i)
        to.push_back(inside[i] ? static_cast<int>(found[i]) : 0);
    };
    const auto mark = [&](const MaskPointer<D>& mask, const PointBatch<D>& at, std::vector<int>& to) {
      for (std::size_t i = 0; mask && i < at.count; ++i)
        to.push_back(mask->contains(at.list().point(i)));
    };
    const PointBatch<D> start = mappedPoints<D>(run.before, points),
                        mapped = mappedPoints<D>(run.result, points);
    paint(images.fixed, greyRanges[0].line(), points, values.fixed);
    paint(images.moving, greyRanges[1].line(), start, values.before);
    mark(run.fixedMask, points, values.fixedMask);
    mark(run.movingMask, start, values.maskBefore);
    if (run.result) {
      paint(images.moving, greyRanges[1].line(), mapped, values.warped);
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
        const auto box = static_cast<std::int64_t>(static_cast<float>(mm) / gridMm + aboveZero);
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

}

template <int D>
SampledSlices<D> sampledSlices(const Context& context, const Registry& registry, const ShownRun<D>& run)
{
  const SampledImages<D> images(registry, run);
  SampledSlices<D> sampled;
  sampled.greyRanges =
      greyRangesOf(rangeOf<D>(run.fixed, run.fixedColours), rangeOf<D>(run.moving, run.movingColours));
  sampled.slices = slicesOf<D>(run, sampled.greyRanges[0].line());
  sampled.gridMm = gridMmOf<D>(run.fixed->geometry);
  sampled.values.resize(sampled.slices.size());
  forEachChunk(context, sampled.slices.size(), [&](std::size_t i) {
    sampled.values[i] = valuesOf<D>(run, images, sampled.greyRanges, sampled.gridMm, sampled.slices[i]);
  });
  return sampled;
}

TESSERA_INSTANTIATE_FUNCTIONS(sampledSlices<D>);

}
