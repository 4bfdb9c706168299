#include "Core/Image/VoxelsOnCuda.h"

#include "Core/Compute/HostCopies.h"

#include <map>
#include <mutex>
#include <utility>

namespace tessera {
namespace {

template <class Source, class Value>
struct Copy {
  std::shared_ptr<const Source> source;
  Buffer<Value> values;
};

template <class Value, class Source>
std::shared_ptr<const Buffer<Value>> sharedCopy(const Context& context, const std::shared_ptr<const Source>& source)
{
  using Held = Copy<Source, Value>;
  static std::mutex mutex;
  static std::map<std::pair<const Source*, const Stream*>, std::weak_ptr<Held>> known;
  const std::lock_guard lock(mutex);
  std::erase_if(known, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<Held>& entry = known[{source.get(), context.stream.get()}];
  std::shared_ptr<Held> held = entry.lock();
  if (!held) {
    held = std::make_shared<Held>();
    held->source = source;
    held->values = Buffer<Value>(context, source->voxels.size());
    copyLargeToDevice(context, held->values.span().data(), source->voxels.data(), source->voxels.size() * sizeof(Value));
    entry = held;
  }
  return {held, &held->values};
}

}

template <int D>
std::shared_ptr<const Buffer<float>> voxelsOnCuda(const Context& context, const ImagePointer<D>& image)
{
  return sharedCopy<float>(context, image);
}

template <int D>
std::shared_ptr<const Buffer<float>> voxelsOnCuda(const Context& context, const std::shared_ptr<const VectorImage<D>>& image)
{
  return sharedCopy<float>(context, image);
}

template <int D>
std::shared_ptr<const Buffer<std::uint8_t>> voxelsOnCuda(const Context& context, const MaskPointer<D>& mask)
{
  return sharedCopy<std::uint8_t>(context, mask);
}

template std::shared_ptr<const Buffer<float>> voxelsOnCuda<2>(const Context&, const ImagePointer<2>&);
template std::shared_ptr<const Buffer<float>> voxelsOnCuda<3>(const Context&, const ImagePointer<3>&);
template std::shared_ptr<const Buffer<float>> voxelsOnCuda<2>(const Context&, const std::shared_ptr<const VectorImage<2>>&);
template std::shared_ptr<const Buffer<std::uint8_t>> voxelsOnCuda<2>(const Context&, const MaskPointer<2>&);
template std::shared_ptr<const Buffer<float>> voxelsOnCuda<3>(const Context&, const std::shared_ptr<const VectorImage<3>>&);
template std::shared_ptr<const Buffer<std::uint8_t>> voxelsOnCuda<3>(const Context&, const MaskPointer<3>&);

}
