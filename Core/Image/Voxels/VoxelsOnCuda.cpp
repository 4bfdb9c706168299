#include "Core/Image/Voxels/VoxelsOnCuda.h"

#include "Core/Compute/Memory/HostCopies.h"
#include "Core/Compute/Memory/MemoryCount.h"
#include "Core/Image/Voxels/ImageOnCuda.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace tessera {
namespace {

template <class Source, class Value>
struct Copy {
  std::shared_ptr<const Source> source;
  Buffer<Value> values;
};

/// The arrays on devices, by their sources in host memory.
template <class Value, class Source>
class SharedCopies {
public:
  using Held = Copy<Source, Value>;

  /// The array of a source; if there is none, fill(buffer) makes it.
  template <class Fill>
  static std::shared_ptr<const Buffer<Value>> find(const Context& context,
                                                   const std::shared_ptr<const Source>& source, Fill&& fill)
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    std::weak_ptr<Held>& entry = known_[{source.get(), context.stream.get()}];
    std::shared_ptr<Held> held = entry.lock();
    if (!held) {
      held = std::make_shared<Held>();
      held->source = source;
      fill(held->values);
      entry = held;
    }
    return {held, &held->values};
  }

  static bool isThere(const Context& context, const std::shared_ptr<const Source>& source)
  {
    const std::lock_guard lock(mutex_);
    const auto entry = known_.find({source.get(), context.stream.get()});
    return entry != known_.end() && !entry->second.expired();
  }

private:
  static inline std::mutex mutex_;
  static inline std::map<std::pair<const Source*, const Stream*>, std::weak_ptr<Held>> known_;
};

template <class Value, class Source>
std::shared_ptr<const Buffer<Value>> sharedCopy(const Context& context,
                                                const std::shared_ptr<const Source>& source)
{
  const MemoryPart part(context, std::is_same_v<Value, float> ? "images" : "masks");
  return SharedCopies<Value, Source>::find(context, source, [&](Buffer<Value>& values) {
    if (onlyCountsMemory(context)) {
      values = Buffer<Value>(context, std::max(source->voxels.size(), source->geometry.voxelCount()));
      return;
    }
    if (source->voxels.size() < source->geometry.voxelCount())
      throw std::logic_error(
          "voxelsOnCuda: nobody holds the voxels on the device any more, and the host has none");
    if (!context.onCuda()) // tests run the functions of kernels on the host
      return values.fromHost(context, source->voxels);
    values = Buffer<Value>(context, source->voxels.size());
    copyLargeToDevice(context, values.span().data(), source->voxels.data(),
                      source->voxels.size() * sizeof(Value));
  });
}

}

template <int D>
std::shared_ptr<const Buffer<float>> voxelsOnCuda(const Context& context, const ImagePointer<D>& image)
{
  if (onlyCountsMemory(context))
    return sharedCopy<float>(context, image);
  if (auto own = ownVoxelsOnCuda<D>(context.device, image))
    return own;
  hostVoxels<D>(image); // of another device
  return sharedCopy<float>(context, image);
}

template <int D>
std::shared_ptr<const Buffer<float>> voxelsOnCuda(const Context& context,
                                                  const std::shared_ptr<const VectorImage<D>>& image)
{
  return sharedCopy<float>(context, image);
}

template <int D>
std::shared_ptr<const Buffer<std::uint8_t>> voxelsOnCuda(const Context& context, const MaskPointer<D>& mask)
{
  return sharedCopy<std::uint8_t>(context, mask);
}

template <int D>
bool areVoxelsOnCuda(const Context& context, const ImagePointer<D>& image)
{
  return SharedCopies<float, Image<D>>::isThere(context, image) || ownVoxelsOnCuda<D>(context.device, image);
}

template <int D>
std::shared_ptr<const Buffer<float>> shareVoxelsOnCuda(const Context& context, const ImagePointer<D>& image,
                                                       Buffer<float>&& voxels)
{
  return SharedCopies<float, Image<D>>::find(context, image,
                                             [&](Buffer<float>& values) { values = std::move(voxels); });
}

template <int D>
std::shared_ptr<const Buffer<std::uint8_t>>
shareVoxelsOnCuda(const Context& context, const MaskPointer<D>& mask, Buffer<std::uint8_t>&& voxels)
{
  return SharedCopies<std::uint8_t, Mask<D>>::find(
      context, mask, [&](Buffer<std::uint8_t>& values) { values = std::move(voxels); });
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template bool areVoxelsOnCuda<D>(const Context&, const ImagePointer<D>&);                                  \
  template std::shared_ptr<const Buffer<std::uint8_t>> shareVoxelsOnCuda<D>(                                 \
      const Context&, const MaskPointer<D>&, Buffer<std::uint8_t>&&);                                        \
  template std::shared_ptr<const Buffer<float>> shareVoxelsOnCuda<D>(const Context&, const ImagePointer<D>&, \
                                                                     Buffer<float>&&);                       \
  template std::shared_ptr<const Buffer<float>> voxelsOnCuda<D>(const Context&, const ImagePointer<D>&);     \
  template std::shared_ptr<const Buffer<float>> voxelsOnCuda<D>(                                             \
      const Context&, const std::shared_ptr<const VectorImage<D>>&);                                         \
  template std::shared_ptr<const Buffer<std::uint8_t>> voxelsOnCuda<D>(const Context&, const MaskPointer<D>&);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
TESSERA_INSTANTIATE(4)
#undef TESSERA_INSTANTIATE

}
