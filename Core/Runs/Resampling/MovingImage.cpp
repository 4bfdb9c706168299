#include "Core/Runs/Resampling/MovingImage.h"

#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Parameters/ParameterText.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {
namespace {

/// A voxel is valid only if all of its components are finite numbers.
template <int D>
void splitComponents(const VectorImage<D>& vectors, const std::string& path, int threads,
                     MovingImage<D>& moving)
{
  const std::size_t voxels = vectors.geometry.voxelCount();
  std::vector<std::uint8_t> finite(voxels, 1);
  std::vector<std::shared_ptr<Image<D>>> images;
  for (int c = 0; c < vectors.components; ++c)
    images.push_back(std::make_shared<Image<D>>(Image<D>{vectors.geometry, std::vector<float>(voxels)}));
  forEachRange(Context{{}, threads}, voxels, voxelsAChunk, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      for (int c = 0; c < vectors.components; ++c) {
        const float value = vectors.voxels[i * vectors.components + c];
        finite[i] = finite[i] && std::isfinite(value);
        images[c]->voxels[i] = std::isfinite(value) ? value : 0;
      }
  });
  moving.components.assign(images.begin(), images.end());
  const auto nonFinite = static_cast<std::size_t>(std::count(finite.begin(), finite.end(), 0));
  if (nonFinite > 0)
    moving.valid = std::make_shared<Mask<D>>(vectors.geometry, std::move(finite));
  warnOfNonFinite(path, nonFinite, moving.warnings);
}

template <int D>
void addScalars(LoadedImage<D>&& loaded, const std::string& path, MovingImage<D>& moving)
{
  moving.valid = loaded.finiteVoxels;
  moving.components.push_back(std::make_shared<Image<D>>(std::move(loaded.image)));
  warnOfNonFinite(path, loaded.nanVoxels, moving.warnings);
}

template <int D>
LoadedImage<D> withoutDirection(LoadedImage<D>&& loaded)
{
  loaded.image.geometry = withIdentityDirection<D>(loaded.image.geometry);
  if (loaded.finiteVoxels)
    *loaded.finiteVoxels = Mask<D>(loaded.image.geometry, std::move(loaded.finiteVoxels->voxels));
  return std::move(loaded);
}

template <int D>
VectorImage<D> withoutDirection(VectorImage<D>&& vectors)
{
  vectors.geometry = withIdentityDirection<D>(vectors.geometry);
  return std::move(vectors);
}

}

std::string nonFiniteText(const std::string& path, std::size_t voxels)
{
  return path + ": " + std::to_string(voxels)
         + (voxels == 1 ? " voxel is not a finite number; it counts as outside the image."
                        : " voxels are not a finite number; they count as outside the image.");
}

void warnOfNonFinite(const std::string& path, std::size_t voxels, std::vector<std::string>& warnings)
{
  if (voxels > 0)
    warnings.push_back(nonFiniteText(path, voxels));
}

void warnOfOutsideLabel(const std::string& path, const std::optional<LabelTable>& labels, double outside,
                        std::vector<std::string>& warnings)
{
  if (const std::string other = labels ? labels->otherLabelOutside() : ""; !other.empty())
    warnings.push_back(path + ": voxels of type \"" + pixelTypeName(labels->type())
                       + "\" cannot hold (DefaultPixelValue " + realText(outside)
                       + "); outside the label map label " + other + " is written instead.");
}

template <int D>
MovingImage<D> readMovingImage(const ImageTask& task, PixelMeaning meaning, bool useDirectionCosines,
                               double outside, int threads)
{
  MovingImage<D> moving;
  const auto placed = [&](auto&& image) {
    return useDirectionCosines ? std::move(image) : withoutDirection<D>(std::move(image));
  };
  withContext(task.option, [&] {
    if (task.isLabels) {
      LabelImage<D> labels = readLabelImage<D>(task.input, task.reading, outside, threads);
      moving.labels = std::move(labels.table);
      warnOfOutsideLabel(task.input, moving.labels, outside, moving.warnings);
      if (!labels.holdsOutside && moving.labels->otherLabelOutside().empty())
        moving.warnings.push_back(task.input + ": (DefaultPixelValue " + realText(outside)
                                  + ") is no label of this map; voxels outside of the map get it. A "
                                    "transform file with (DefaultPixelValue 0) gives them no label.");
      addScalars<D>(placed(std::move(labels.loaded)), task.input, moving);
    } else if (meaning == PixelMeaning::vector) {
      splitComponents<D>(placed(readVectorImage<D>(task.input, task.reading, threads)), task.input, threads,
                         moving);
    } else {
      addScalars<D>(placed(readImage<D>(task.input, task.reading, moving.notes, threads)), task.input,
                    moving);
    }
  });
  return moving;
}

template <int D>
void warnOfFractions(const ImageTask& task, PixelType resultType, MovingImage<D>& moving)
{
  const auto isFractional = [](float value) {
    constexpr float wholeFrom = 1 << std::numeric_limits<float>::digits;
    return std::abs(value) < wholeFrom && value != static_cast<float>(static_cast<int>(value));
  };
  if (isFloatingPoint(task.header->componentType) && !isFloatingPoint(resultType)
      && std::ranges::any_of(moving.components, [&](const ImagePointer<D>& image) {
           return std::ranges::any_of(image->voxels, isFractional);
         }))
    moving.warnings.push_back(task.input + ": it has fractional values, and (ResultImagePixelType \""
                              + pixelTypeName(resultType)
                              + "\") rounds the result. (ResultImagePixelType \"float\") keeps fractions.");
}

template <int D>
SliceReader<D> openInSlices(const ImageTask& task, double outside)
{
  const VoxelsAs as = task.isLabels ? VoxelsAs::labels : VoxelsAs::intensities;
  return withContext(task.option, [&] { return SliceReader<D>(task.input, task.reading, as, outside); });
}

template MovingImage<2> readMovingImage<2>(const ImageTask&, PixelMeaning, bool, double, int);
template MovingImage<3> readMovingImage<3>(const ImageTask&, PixelMeaning, bool, double, int);
template void warnOfFractions(const ImageTask&, PixelType, MovingImage<2>&);
template void warnOfFractions(const ImageTask&, PixelType, MovingImage<3>&);
template SliceReader<2> openInSlices<2>(const ImageTask&, double);
template SliceReader<3> openInSlices<3>(const ImageTask&, double);

}
