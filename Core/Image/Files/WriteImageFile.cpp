#include "Core/Compute/Error.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/ImageStream.h"
#include "Core/Image/ShearedGrid.h"
#include "Core/Image/Voxels/PixelRounding.h"

#include <memory>

namespace tessera {
namespace {

// Bytes of pixels that are converted before they are written: enough for many threads that compress, or few
// enough for the cache if the file is not compressed.
constexpr std::size_t compressedBytes = std::size_t(32) << 20, plainBytes = std::size_t(4) << 20;

void toPixelsByThreads(std::span<const float> values, PixelType type, std::byte* pixels, int threads)
{
  forEachRange(Context{{}, threads}, values.size(), convertedAtOnce,
               [&](std::size_t first, std::size_t last) {
                 toPixels(values.subspan(first, last - first), type, pixels + first * pixelTypeSize(type));
               });
}

}

template <int D>
bool ImageFileSlabs<D>::writes(const std::string& path, const ImageGeometry<D>& geometry, int components)
{
  const ImageHeader header = headerOf(path, geometry, PixelType::float32, components);
  return ImageStream::writes(formatOf(path), header) && ImageStream::interleaves(formatOf(path), header);
}

template <int D>
ImageFileSlabs<D>::ImageFileSlabs(const std::string& path, const ImageGeometry<D>& geometry, PixelType type,
                                  int components, bool compress, int threads, OutputDigests* digests)
    : type_(type), threads_(threads)
{
  checkWritable(formatOf(path), D, type, components);
  checkHoldsGrid(formatOf(path), geometry);
  if (!writes(path, geometry, components))
    failAs(ExitCode::unwritableOutput, path, "files of this kind cannot be written slab by slab",
           "mha, mhd, nrrd, and for one component a voxel also nii and nii.gz");
  stream_ = std::make_unique<ImageStream>(path, headerOf(path, geometry, type, components), compress, threads,
                                          ImageStream::ChangeHead{}, digests);
}

template <int D>
ImageFileSlabs<D>::~ImageFileSlabs() = default;

template <int D>
void ImageFileSlabs<D>::write(std::span<const float> values)
{
  if (type_ == PixelType::float32) {
    stream_->write(std::as_bytes(values));
    return;
  }
  const std::size_t size = pixelTypeSize(type_),
                    maxValues = (stream_->compresses() ? compressedBytes : plainBytes) / size;
  const auto pixels = std::make_unique_for_overwrite<std::byte[]>(std::min(maxValues, values.size()) * size);
  for (std::size_t first = 0; first < values.size(); first += maxValues) {
    const std::size_t count = std::min(maxValues, values.size() - first);
    toPixelsByThreads(values.subspan(first, count), type_, pixels.get(), threads_);
    stream_->write({pixels.get(), count * size});
  }
}

template <int D>
void ImageFileSlabs<D>::writeStored(std::span<const std::byte> bytes)
{
  stream_->write(bytes);
}

template <int D>
void ImageFileSlabs<D>::commit()
{
  stream_->commit();
}

namespace {

template <int D>
void writeComponents(const std::string& path, const ImageGeometry<D>& geometry, int components,
                     std::span<const float> values, PixelType type, bool compress, int threads)
{
  if (ImageFileSlabs<D>::writes(path, geometry, components)) {
    ImageFileSlabs<D> file(path, geometry, type, components, compress, threads);
    file.write(values);
    file.commit();
    return;
  }
  checkHoldsGrid(formatOf(path), geometry);
  const ImageHeader header = headerOf(path, geometry, type, components);
  if (type == PixelType::float32) {
    writeVoxels(path, header, values.data(), compress, threads);
  } else {
    const auto pixels = std::make_unique_for_overwrite<std::byte[]>(values.size() * pixelTypeSize(type));
    toPixelsByThreads(values, type, pixels.get(), threads);
    writeVoxels(path, header, pixels.get(), compress, threads);
  }
}

}

template <int D>
void writeImage(const std::string& path, const Image<D>& image, PixelType type, bool compress, int threads)
{
  writeComponents(path, image.geometry, 1, image.voxels, type, compress, threads);
}

template <int D>
void writeVectorImage(const std::string& path, const VectorImage<D>& image, bool compress, int threads,
                      PixelType type)
{
  writeComponents(path, image.geometry, image.components, image.voxels, type, compress, threads);
}

template <int D>
void writeStoredImage(const std::string& path, const ImageGeometry<D>& geometry, PixelType type,
                      int components, std::span<const std::byte> voxels, bool compress, int threads,
                      OutputDigests* digests)
{
  checkHoldsGrid(formatOf(path), geometry);
  writeVoxels(path, headerOf(path, geometry, type, components), voxels.data(), compress, threads, digests);
}

TESSERA_INSTANTIATE_CLASS_TO_4(ImageFileSlabs);
TESSERA_INSTANTIATE_FUNCTIONS_TO_4(writeImage<D>, writeStoredImage<D>, writeVectorImage<D>);

}
