#include "Core/Image/Voxels/ImageOnCuda.h"

#include "Core/Compute/Memory/HostCopies.h"
#include "Core/Compute/Memory/LargeArrays.h"
#include "Core/Image/ImageInMemory.h"
#include "Core/Image/Voxels/StoredVoxels.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"

#include <mutex>
#include <utility>

namespace tessera {
namespace {

/// The voxels of an image that are on a device alone, and what was found of them since.
template <int D>
struct VoxelsAlone {
  Context context;
  std::shared_ptr<const Buffer<float>> voxels;
  Image<D>* image;
  std::mutex mutex = {};
  std::optional<VoxelExtremes> extremes = {};
};

/// Deletes such an image. By it every pointer to the image finds the voxels.
template <int D>
struct DeleteWithVoxels {
  std::shared_ptr<VoxelsAlone<D>> alone;

  void operator()(Image<D>* image)
  {
    delete image;
    alone.reset();
  }
};

template <int D>
VoxelsAlone<D>* aloneOf(const ImagePointer<D>& image)
{
  const auto* const found = std::get_deleter<DeleteWithVoxels<D>>(image);
  return found ? found->alone.get() : nullptr;
}

}

template <int D>
ImagePointer<D> imageOnCuda(const Context& context, const ImageGeometry<D>& geometry,
                            std::shared_ptr<const Buffer<float>> voxels)
{
  context.stream->wait();
  auto image = std::make_unique<Image<D>>(Image<D>{geometry, {}});
  DeleteWithVoxels<D> owner{std::make_shared<VoxelsAlone<D>>(context, std::move(voxels), image.get())};
  return ImagePointer<D>(image.release(), std::move(owner));
}

template <int D>
ImagePointer<D> imageOfOthersOnCuda(const std::string& name, const Context& context, const void* voxels,
                                    PixelType type, const ImageGeometry<D>& geometry)
{
  checkInMemory<D>(name, geometry, geometry.voxelCount());
  waitForDefaultStream(context);
  Buffer<VoxelCounts> counts;
  counts.fromHost(context, std::vector<VoxelCounts>(1));
  const auto own = std::make_shared<Buffer<float>>(context, geometry.voxelCount());
  StoredLayout layout;
  layout.type = type;
  storedToFloatsOnCuda(context, static_cast<const std::byte*>(voxels), layout, 0, own->size(),
                       own->span().data(), nullptr, counts.span().data());
  const VoxelCounts found = counts.toHost(context).front();
  return found.nonFinite + found.inexact > 0 ? nullptr : imageOnCuda<D>(context, geometry, own);
}

template <int D>
std::shared_ptr<const Buffer<float>> ownVoxelsOnCuda(const Device& device, const ImagePointer<D>& image)
{
  const VoxelsAlone<D>* const alone = aloneOf<D>(image);
  if (!alone || device.kind != DeviceKind::cuda || device.ordinal != alone->context.device.ordinal)
    return nullptr;
  return {image, alone->voxels.get()};
}

template <int D>
const std::vector<float>& hostVoxels(const ImagePointer<D>& image)
{
  if (VoxelsAlone<D>* const alone = aloneOf<D>(image)) {
    const std::lock_guard lock(alone->mutex);
    const std::span<const float> onCuda = std::as_const(*alone->voxels).span();
    if (std::vector<float>& voxels = alone->image->voxels; voxels.size() < onCuda.size()) {
      std::vector<float> copied = largeVector<float>(alone->context, onCuda.size());
      copyLargeToHost(alone->context, copied.data(), onCuda.data(), onCuda.size_bytes());
      voxels = std::move(copied);
    }
  }
  return image->voxels;
}

template <int D>
std::size_t voxelsInMemory(const ImagePointer<D>& image)
{
  const VoxelsAlone<D>* const alone = aloneOf<D>(image);
  return alone ? alone->voxels->size() : image->voxels.size();
}

template <int D>
std::optional<VoxelExtremes> extremesOnCuda(const Context& context, const ImagePointer<D>& image)
{
  if (VoxelsAlone<D>* const alone = aloneOf<D>(image)) {
    const std::lock_guard lock(alone->mutex);
    if (!alone->extremes)
      alone->extremes = findExtremesOnCuda(alone->context, std::as_const(*alone->voxels).span());
    return alone->extremes;
  }
  if (!context.onCuda() || !areVoxelsOnCuda<D>(context, image))
    return {};
  return findExtremesOnCuda(context, voxelsOnCuda<D>(context, image)->span());
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(imageOnCuda<D>, imageOfOthersOnCuda<D>, ownVoxelsOnCuda<D>, hostVoxels<D>,
                                   voxelsInMemory<D>, extremesOnCuda<D>);

}
