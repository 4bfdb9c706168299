#include "Core/Runs/Resampling/MovingImage.h"

#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/ImageInMemory.h"
#include "Core/Image/Voxels/ImageOnCuda.h"
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
void addScalars(const CheckedImage<D>& image, const std::string& path, MovingImage<D>& moving)
{
  moving.valid = image.finiteVoxels;
  moving.components.push_back(image.image);
  warnOfNonFinite(path, image.nanVoxels, moving.warnings);
}

template <int D>
CheckedImage<D> shared(LoadedImage<D>&& loaded)
{
  return {std::make_shared<Image<D>>(std::move(loaded.image)), loaded.nanVoxels, loaded.finiteVoxels};
}

/// An image in memory stays where it is if its direction is used.
template <int D>
CheckedImage<D> inMemory(const std::string& name, HeldImage<D> held, bool useDirectionCosines, int threads)
{
  if (!useDirectionCosines) {
    const ImageGeometry<D> geometry = withIdentityDirection<D>(held.image->geometry);
    held.image = std::make_shared<Image<D>>(Image<D>{geometry, held.image->voxels});
    if (held.finiteVoxels)
      held.finiteVoxels = std::make_shared<Mask<D>>(geometry, held.finiteVoxels->voxels);
  }
  return held.checked(Context{{}, threads}, name);
}

template <int D>
LoadedImage<D> withoutDirection(LoadedImage<D>&& loaded)
{
  loaded.image.geometry = withIdentityDirection<D>(loaded.image.geometry);
  if (loaded.finiteVoxels)
    *loaded.finiteVoxels = Mask<D>(loaded.image.geometry, std::move(loaded.finiteVoxels->voxels));
  return std::move(loaded);
}

/// Whether a type holds the range of another one.
bool holdsRange(PixelType type, PixelType ofType)
{
  return withPixelType(type, [&]<class T>(std::type_identity<T>) {
    return withPixelType(ofType, []<class Other>(std::type_identity<Other>) {
      return std::numeric_limits<T>::lowest() <= static_cast<double>(std::numeric_limits<Other>::lowest())
             && std::numeric_limits<T>::max() >= static_cast<double>(std::numeric_limits<Other>::max());
    });
  });
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

template <int D>
MovingImage<D> readMovingImage(const ImageTask& task, PixelMeaning meaning, bool useDirectionCosines,
                               double outside, int threads)
{
  MovingImage<D> moving;
  moving.isLabels = task.isLabels;
  const auto placed = [&](auto&& image) {
    return useDirectionCosines ? std::move(image) : withoutDirection<D>(std::move(image));
  };
  withContext(task.option, [&] {
    const GivenImage input = task.load ? task.load(task, moving.notes, threads) : task.input;
    if (const HeldImage<D>* const held = input.held<D>()) {
      hostVoxels<D>(held->image);
      if (task.isLabels) {
        requireWholeLabels(task.input.path, held->image->voxels);
        moving.labels.emplace(task.header->componentType, outside);
      }
      addScalars<D>(inMemory<D>(task.input.path, *held, useDirectionCosines, threads), task.input.path,
                    moving);
    } else if (task.isLabels || task.isExact) {
      LabelImage<D> labels = readLabelImage<D>(task.input.path, task.reading, outside, threads);
      if (task.isLabels || labels.table.isNumbered())
        moving.labels = std::move(labels.table);
      addScalars<D>(shared<D>(placed(std::move(labels.loaded))), task.input.path, moving);
    } else if (meaning == PixelMeaning::vector) {
      splitComponents<D>(placed(readVectorImage<D>(task.input.path, task.reading, threads)), task.input.path,
                         threads, moving);
    } else {
      addScalars<D>(shared<D>(placed(readImage<D>(task.input.path, task.reading, moving.notes, threads))),
                    task.input.path, moving);
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
    moving.warnings.push_back(task.input.path + ": it has fractional values, and (ResultImagePixelType \""
                              + pixelTypeName(resultType)
                              + "\") rounds the result. (ResultImagePixelType \"float\") keeps fractions.");
}

void tellOfClamped(const std::string& where, std::size_t clamped, PixelType ofImage, PixelType written,
                   Log& log)
{
  const bool isHeld = holdsRange(written, ofImage);
  const std::string holder = pixelTypeName(isHeld ? PixelType::float32 : ofImage),
                    text = where + ": " + std::to_string(clamped)
                           + " values of its result are beyond the range of \"" + pixelTypeName(written)
                           + "\" and were set to its ends. (ResultImagePixelType \"" + holder
                           + "\") holds them.";
  if (clamped > 0 && isHeld)
    log.note(text);
  else if (clamped > 0)
    log.warning(text);
}

template <int D>
SliceReader<D> openInSlices(const ImageTask& task, double outside)
{
  const VoxelsAs as = task.isLabels || task.isExact                  ? VoxelsAs::labels
                      : task.header->meaning == PixelMeaning::vector ? VoxelsAs::components
                                                                     : VoxelsAs::intensities;
  return withContext(task.option, [&] { return SliceReader<D>(task.input.path, task.reading, as, outside); });
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(readMovingImage<D>, warnOfFractions<D>, openInSlices<D>);

}
