#include "Core/Image/ImageInMemory.h"

#include "Core/Compute/Memory/LargeArrays.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Image/Files/ImageSource.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Voxels/ImageOnCuda.h"
#include "Core/Image/Voxels/VoxelValues.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace tessera {
namespace {

/// Calls body(first, values) for all voxels, in pieces of at most `convertedAtOnce` in the order of an image.
template <class T, int D, class Body>
void forEachStridedPiece(const StridedVoxels<D>& voxels, const ImageGeometry<D>& geometry, int threads,
                         Body&& body)
{
  const Size<D>& size = geometry.size;
  const auto* const origin = static_cast<const std::byte*>(voxels.first);
  forEachRange(Context{{}, threads}, geometry.voxelCount(), convertedAtOnce,
               [&](std::size_t first, std::size_t last) {
                 std::array<std::ptrdiff_t, D> index;
                 std::ptrdiff_t offset = 0; // bytes
                 std::size_t rest = first;
                 for (int d = 0; d < D; ++d) {
                   index[d] = static_cast<std::ptrdiff_t>(rest % size[d]);
                   rest /= size[d];
                   offset += index[d] * voxels.stepBytes[d];
                 }
                 std::vector<T> values(last - first);
                 const auto lengthOf = [&](int d) { return static_cast<std::ptrdiff_t>(size[d]); };
                 for (auto value = values.begin(); value != values.end();) { // row after row
                   const auto count = std::min(lengthOf(0) - index[0], values.end() - value);
                   const std::ptrdiff_t step = voxels.stepBytes[0];
                   if (step == sizeof(T))
                     std::memcpy(&*value, origin + offset, count * sizeof(T));
                   else
                     for (std::ptrdiff_t i = 0; i < count; ++i)
                       std::memcpy(&value[i], origin + offset + i * step, sizeof(T));
                   value += count;
                   offset += count * step;
                   index[0] += count;
                   for (int d = 0; d + 1 < D && index[d] == lengthOf(d); ++d) {
                     offset += voxels.stepBytes[d + 1] - index[d] * voxels.stepBytes[d];
                     index[d] = 0;
                     ++index[d + 1];
                   }
                 }
                 body(first, std::span<const T>(values));
               });
}

/// Checks a grid of strided voxels and that a copy of `bytesAVoxel` fits into memory.
template <int D>
void checkStrided(const std::string& name, const StridedVoxels<D>& voxels, const ImageGeometry<D>& geometry,
                  std::size_t bytesAVoxel)
{
  const ImageHeader header = headerOf<D>(name, geometry, voxels.type);
  checkGeometry(header);
  requireImageMemory(header, bytesAVoxel);
}

}

template <int D>
void checkInMemory(const std::string& name, const ImageGeometry<D>& geometry, std::size_t voxelsInMemory)
{
  checkGeometry(headerOf<D>(name, geometry));
  if (static_cast<double>(voxelsInMemory) != extentCount(geometry.size))
    failToRead(name,
               std::to_string(voxelsInMemory) + " voxels in memory: the size is " + extentText(geometry.size),
               "one number for each voxel");
}

template <int D>
CheckedImage<D> checkedImage(const Context& context, const std::string& name, const ImagePointer<D>& image)
{
  checkInMemory<D>(name, image->geometry, voxelsInMemory<D>(image));
  const std::optional<VoxelExtremes> onCuda = extremesOnCuda<D>(context, image);
  if (onCuda ? onCuda->nonFinite == 0 : countNonFinite(image->voxels, context.threads) == 0)
    return {image, 0, nullptr};
  hostVoxels<D>(image);
  LoadedImage<D> copy{*image, 0, nullptr};
  setAsideNonFinite(name, context.threads, copy);
  return {std::make_shared<Image<D>>(std::move(copy.image)), copy.nanVoxels, copy.finiteVoxels};
}

template <int D>
void checkMask(const std::string& name, const Mask<D>& mask)
{
  checkInMemory<D>(name, mask.geometry, mask.voxels.size());
  requireInside(name, mask.voxels);
}

template <int D>
LoadedImage<D> imageFromStrided(const std::string& name, const StridedVoxels<D>& voxels,
                                const ImageGeometry<D>& geometry, std::vector<std::string>& notes,
                                int threads)
{
  checkStrided(name, voxels, geometry, sizeof(float));
  LoadedImage<D> loaded{
      {geometry, largeVector<float>(Context{{}, threads}, geometry.voxelCount())}, 0, nullptr};
  std::atomic<std::size_t> rounded{0};
  withPixelType(voxels.type, [&]<class T>(std::type_identity<T>) {
    forEachStridedPiece<T>(voxels, geometry, threads, [&](std::size_t first, std::span<const T> piece) {
      std::ranges::transform(piece, loaded.image.voxels.begin() + first,
                             [](T value) { return static_cast<float>(value); });
      rounded += countRounded(piece);
    });
  });
  if (rounded > 0)
    notes.push_back(roundedNote(name, rounded));
  if (isFloatingPoint(voxels.type))
    setAsideNonFinite(name, threads, loaded);
  return loaded;
}

template <int D>
Mask<D> maskFromStrided(const std::string& name, const StridedVoxels<D>& voxels,
                        const ImageGeometry<D>& geometry, int threads)
{
  checkStrided(name, voxels, geometry, sizeof(std::uint8_t));
  std::vector<std::uint8_t> inside(geometry.voxelCount());
  withPixelType(voxels.type, [&]<class T>(std::type_identity<T>) {
    forEachStridedPiece<T>(voxels, geometry, threads, [&](std::size_t first, std::span<const T> piece) {
      std::ranges::transform(piece, inside.begin() + first, isInsideMask<T>);
    });
  });
  requireInside(name, inside);
  return Mask<D>(geometry, std::move(inside));
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(checkInMemory<D>, checkedImage<D>, checkMask<D>, imageFromStrided<D>,
                                   maskFromStrided<D>);

}
