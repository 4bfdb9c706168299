#include "Core/Compute/Error.h"
#include "Core/Compute/Log.h"
#include "Core/Compute/Memory/LargeArrays.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/ImageSource.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Voxels/VoxelValues.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>

namespace tessera {
namespace {

std::size_t bytesInFile(const ImageSource& source)
{
  return source.header().isReadWhole ? source.byteCount() : 0;
}

/// Calls body(first, values) with consecutive pieces of all components of all voxels, in the type of the
/// file.
template <class Body>
void forEachPiece(ImageSource& source, int threads, Body&& body)
{
  withPixelType(source.header().componentType, [&]<class T>(std::type_identity<T>) {
    source.read(
        [&](std::uint64_t firstByte, std::span<const std::byte> bytes) {
          body(firstByte / sizeof(T),
               std::span(reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)));
        },
        threads);
  });
}

void refuseVectors(const ImageHeader& header)
{
  if (header.meaning == PixelMeaning::vector)
    failToRead(header.path,
               std::to_string(header.components)
                   + " components a voxel: an image of one component is asked for here",
               "one component, or colour (red, green, blue, with or without opacity)");
}

std::vector<float> readLuminance(ImageSource& source, int threads)
{
  const ImageHeader& header = source.header();
  requireImageMemory(header, sizeof(float), source.byteCount());
  const auto bytes = std::make_unique_for_overwrite<std::byte[]>(source.byteCount());
  source.read(bytes.get(), threads);
  std::vector<float> voxels = largeVector<float>(Context{{}, threads}, header.voxelCount());
  withPixelType(header.componentType, [&]<class T>(std::type_identity<T>) {
    const T* const colours = reinterpret_cast<const T*>(bytes.get());
    const auto components = static_cast<std::size_t>(header.components);
    forEachRange(Context{{}, threads}, voxels.size(), convertedAtOnce,
                 [&](std::size_t first, std::size_t last) {
                   for (std::size_t i = first; i < last; ++i)
                     voxels[i] = luminance(colours + i * components, components);
                 });
  });
  return voxels;
}

/// Reads all components as floats. A file of floats is read straight into the result.
std::vector<float> readComponents(ImageSource& source, int threads, std::vector<std::string>& notes)
{
  const ImageHeader& header = source.header();
  const bool inPlace = header.componentType == PixelType::float32;
  requireImageMemory(header, header.components * sizeof(float), inPlace ? 0 : bytesInFile(source));
  std::vector<float> values =
      largeVector<float>(Context{{}, threads}, header.voxelCount() * header.components);
  if (inPlace) {
    source.read(reinterpret_cast<std::byte*>(values.data()), threads);
    return values;
  }
  std::atomic<std::size_t> rounded{0};
  forEachPiece(source, threads, [&]<class T>(std::size_t first, std::span<const T> piece) {
    std::transform(piece.begin(), piece.end(), values.begin() + first,
                   [](T value) { return static_cast<float>(value); });
    rounded += countRounded(piece);
  });
  if (rounded > 0)
    notes.push_back(roundedNote(header.path, rounded));
  return values;
}

/// Reads one float a voxel: the only component, or the luminance of a colour.
std::vector<float> readScalars(ImageSource& source, int threads, std::vector<std::string>& notes)
{
  refuseVectors(source.header());
  return source.header().components > 1 ? readLuminance(source, threads)
                                        : readComponents(source, threads, notes);
}

}

void requireImageMemory(const ImageHeader& header, std::size_t bytesAVoxel, std::size_t bytesInFile)
{
  requireMemory(extentCount(header.size) * static_cast<double>(bytesAVoxel)
                    + static_cast<double>(bytesInFile),
                header.path + ": an image of " + extentText(header.size) + " voxels",
                "a smaller image, or more memory");
}

void requireInside(const std::string& path, std::span<const std::uint8_t> mask)
{
  if (std::ranges::all_of(mask, [](std::uint8_t voxel) { return voxel == 0; }))
    failToRead(path, "a mask of " + std::to_string(mask.size()) + " voxels: it is empty, every voxel is zero",
               "a mask with at least one voxel that is not zero");
}

void failNoneFinite(const std::string& path, std::size_t voxels)
{
  failToRead(path, "none of its " + std::to_string(voxels) + " voxels is a finite number",
             "an image with values");
}

std::size_t countNonFinite(std::span<const float> voxels, int threads)
{
  std::atomic<std::size_t> count{0};
  forEachRange(
      Context{{}, threads}, voxels.size(), convertedAtOnce, [&](std::size_t first, std::size_t last) {
        count += static_cast<std::size_t>(std::count_if(voxels.begin() + first, voxels.begin() + last,
                                                        [](float value) { return !std::isfinite(value); }));
      });
  return count;
}

template <int D>
void setAsideNonFinite(const std::string& path, int threads, LoadedImage<D>& loaded)
{
  std::vector<float>& voxels = loaded.image.voxels;
  loaded.nanVoxels = countNonFinite(voxels, threads);
  if (loaded.nanVoxels == 0)
    return;
  if (loaded.nanVoxels == voxels.size())
    failNoneFinite(path, voxels.size());
  std::vector<std::uint8_t> finite(voxels.size());
  for (std::size_t i = 0; i < voxels.size(); ++i) {
    finite[i] = std::isfinite(voxels[i]);
    voxels[i] = finite[i] ? voxels[i] : 0.0f;
  }
  loaded.finiteVoxels = std::make_shared<Mask<D>>(loaded.image.geometry, std::move(finite));
}

template <int D>
LoadedImage<D> readImage(const std::string& path, const ReadingOptions& reading,
                         std::vector<std::string>& notes, int threads)
{
  const std::unique_ptr<ImageSource> source = openImage(path, reading);
  LoadedImage<D> loaded;
  loaded.headerNotes = source->header().notes;
  loaded.image.geometry = geometryOf<D>(source->header());
  loaded.image.voxels = readScalars(*source, threads, notes);
  if (source->header().components > 1)
    notes.push_back(luminanceNote(source->header()));
  if (source->header().componentType == PixelType::float32
      || source->header().componentType == PixelType::float64)
    setAsideNonFinite(path, threads, loaded);
  return loaded;
}

template <int D>
Mask<D> readMask(const std::string& path, const ReadingOptions& reading, int threads,
                 std::vector<std::string>* notes)
{
  const std::unique_ptr<ImageSource> source = openImage(path, reading);
  const ImageHeader& header = source->header();
  const ImageGeometry<D> geometry = geometryOf<D>(header);
  refuseVectors(header);
  requireImageMemory(header, sizeof(std::uint8_t), bytesInFile(*source));
  std::vector<std::uint8_t> inside(header.voxelCount());
  double least = std::numeric_limits<double>::infinity(), greatest = -least; // of the values inside
  std::mutex oneAtATime;
  const auto take = [&]<class T>(std::size_t first, std::span<const T> piece) {
    double leastOfPiece = std::numeric_limits<double>::infinity(), greatestOfPiece = -leastOfPiece;
    for (std::size_t i = 0; i < piece.size(); ++i)
      if ((inside[first + i] = isInsideMask<T>(piece[i]))) {
        leastOfPiece = std::min(leastOfPiece, static_cast<double>(piece[i]));
        greatestOfPiece = std::max(greatestOfPiece, static_cast<double>(piece[i]));
      }
    const std::lock_guard lock(oneAtATime);
    least = std::min(least, leastOfPiece);
    greatest = std::max(greatest, greatestOfPiece);
  };
  if (header.components > 1)
    take(0, std::span<const float>(readLuminance(*source, threads)));
  else
    forEachPiece(*source, threads, take);
  requireInside(path, inside);
  if (notes && least < greatest)
    notes->push_back(path + ": a mask of more than two values: every voxel other than 0 is inside, "
                     + decimals(100.0 * static_cast<double>(std::ranges::count(inside, 1))
                                    / static_cast<double>(inside.size()),
                                1)
                     + " % of them, with values from " + shortText(least) + " to " + shortText(greatest));
  return Mask<D>(geometry, std::move(inside));
}

template <int D>
VectorImage<D> readVectorImage(const std::string& path, const ReadingOptions& reading, int threads)
{
  const std::unique_ptr<ImageSource> source = openImage(path, reading);
  std::vector<std::string> notes;
  return {geometryOf<D>(source->header()), source->header().components,
          readComponents(*source, threads, notes)};
}

template <int D>
ImageGeometry<D> geometryOfVolumes(const ImageHeader& header)
{
  if (header.dimension < D + 1 || (D == 2 && header.dimension > 3) || header.components != 1)
    failToRead(
        header.path,
        std::to_string(header.dimension) + " axes and " + std::to_string(header.components)
            + " component(s) a voxel"
            + (header.components > 1 && header.meaning != PixelMeaning::vector ? ", which are colours" : ""),
        D == 2 ? "3 axes, of which the last one is time, and one component"
               : "4 axes, of which the last one counts volumes or components");
  ImageHeader one = withFirstAxes(header, 3);
  one.size[2] = D == 2 ? 1 : one.size[2];
  return geometryOf<D>(one);
}

template <int D>
std::vector<ImagePointer<D>> readVolumes(const std::string& path, const ReadingOptions& reading,
                                         std::vector<std::string>& notes, int threads)
{
  const std::unique_ptr<ImageSource> source = openImage(path, reading);
  const ImageHeader& header = source->header();
  const ImageGeometry<D> geometry = geometryOfVolumes<D>(header);
  notes.insert(notes.end(), header.notes.begin(), header.notes.end());
  const std::size_t voxels = geometry.voxelCount();
  requireImageMemory(header, sizeof(float), bytesInFile(*source));
  std::vector<std::shared_ptr<Image<D>>> read(header.voxelCount() / voxels);
  for (auto& volume : read)
    volume = std::make_shared<Image<D>>(Image<D>{geometry, largeVector<float>(Context{{}, threads}, voxels)});
  std::atomic<std::size_t> rounded{0};
  forEachPiece(*source, threads, [&]<class T>(std::size_t first, std::span<const T> piece) {
    for (std::size_t i = 0; i < piece.size();) { // a piece may reach over several volumes
      const std::size_t volume = (first + i) / voxels, voxel = (first + i) % voxels,
                        count = std::min(piece.size() - i, voxels - voxel);
      std::transform(piece.begin() + i, piece.begin() + i + count, read[volume]->voxels.begin() + voxel,
                     [](T value) { return static_cast<float>(value); });
      i += count;
    }
    rounded += countRounded(piece);
  });
  if (rounded > 0)
    notes.push_back(roundedNote(header.path, rounded));
  return {read.begin(), read.end()};
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(setAsideNonFinite<D>, readImage<D>, readMask<D>, readVectorImage<D>);
TESSERA_INSTANTIATE_FUNCTIONS(geometryOfVolumes<D>, readVolumes<D>);

}
