#include "Core/Image/Voxels/LabelImage.h"

#include "Core/Compute/Memory/LargeArrays.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Image/Files/ImageSource.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Voxels/PixelRounding.h"

#include <algorithm>

namespace tessera {

void requireLabels(const ImageHeader& header)
{
  if (header.components != 1)
    failToRead(header.path, std::to_string(header.components) + " components a voxel: no label map",
               "one component a voxel");
}

void requireWholeLabels(const std::string& path, std::span<const float> values)
{
  const auto wrong = std::ranges::find_if_not(values, isExactLabel<float>);
  if (wrong != values.end())
    failToRead(path, shortText(*wrong) + " is no label", allowedLabels);
}

template <int D>
LabelImage<D> readLabelImage(const std::string& path, const ReadingOptions& reading, double outside,
                             int threads)
{
  const std::unique_ptr<ImageSource> source = openImage(path, reading);
  const ImageHeader& header = source->header();
  requireLabels(header);
  LabelImage<D> image{{}, LabelTable(header.componentType, outside)};
  image.loaded.image.geometry = geometryOf<D>(header);
  requireMemory(extentCount(header.size) * static_cast<double>(sizeof(float))
                    + static_cast<double>(source->byteCount()),
                path + ": a label map of " + extentText(header.size) + " voxels",
                "a smaller image, or more memory");
  std::vector<float>& voxels = image.loaded.image.voxels;
  voxels = largeVector<float>(Context{{}, threads}, header.voxelCount());
  withPixelType(header.componentType, [&]<class T>(std::type_identity<T>) {
    const auto values = largeArray<T>(voxels.size());
    source->read(reinterpret_cast<std::byte*>(values.get()), threads);
    const std::span<const T> all(values.get(), voxels.size());
    if (std::all_of(all.begin(), all.end(), isExactLabel<T>)) {
      std::transform(all.begin(), all.end(), voxels.begin(),
                     [](T value) { return static_cast<float>(value); });
      return;
    }
    requireMemory(static_cast<double>(all.size_bytes()),
                  path + ": a table of the labels of " + extentText(header.size) + " voxels",
                  "a smaller image, or more memory");
    image.table.beNumbered();
    image.table.template number<T>(path, all, voxels, threads);
  });
  setAsideNonFinite(path, threads, image.loaded);
  return image;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(readLabelImage<D>);

}
