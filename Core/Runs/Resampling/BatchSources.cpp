#include "Core/Runs/Resampling/BatchSources.h"

#include "Core/Registration/Reporter.h"
#include "Core/Runs/Resampling/MemoryOnDevice.h"
#include "Core/Runs/Resampling/ResultWriter.h"

namespace tessera {
namespace {

template <int D>
RoomOnDevice roomFor(const ImageBatch<D>& batch, const MovingImage<D>& moving, PixelType type)
{
  return {memoryOnDevice<D>(batch, {moving.geometry(), moving.components.size(), moving.isLabels,
                                    moving.valid != nullptr, false, type}),
          usableDeviceMemory(batch.context)};
}

/// The number of slices of each component that fit on the device, for an image that does not fit as a whole.
template <int D>
std::size_t slicesAtOnce(const ImageBatch<D>& batch, const MovingImage<D>& moving, PixelType type,
                         const RoomOnDevice& room, const Interpolator<D>& interpolator)
{
  const SlicesThatFit slices =
      batch.resampler.slicesThatFit(batch.chain, {&interpolator, moving.valid, {}}, batch.lattice, type,
                                    room.usableBytes / static_cast<double>(moving.components.size()));
  if (slices.atOnce == 0)
    failForDevice<D>(batch, "", room, slices.whyNot);
  batch.log.detail("  " + deviceName(batch.context.device) + " has " + std::to_string(slices.atOnce)
                   + " of the image's " + std::to_string(moving.geometry().size[D - 1])
                   + " slices at a time");
  return slices.atOnce;
}

}

template <int D>
void failForDevice(const ImageBatch<D>& batch, const std::string& prefix, const RoomOnDevice& room,
                   const std::string& whyNot)
{
  failAs(ExitCode::outOfMemory, prefix + "resampling on " + deviceName(batch.context.device),
         "it needs " + memoryText(room.needed.bytes()) + " of memory there (" + room.needed.text() + "), "
             + memoryText(room.usableBytes)
             + " are free, and the image cannot be brought there in parts: " + whyNot,
         "a device with more, or \"cpu\"");
}

template <int D>
void BatchSources<D>::add(const ImageBatch<D>& batch, const ImageTask& task, const MovingImage<D>& moving)
{
  const PixelType type = ResultWriter<D>::resampledType(moving.labels, moving.isLabels, batch.typeOf(task));
  Context host{{}, batch.context.threads};
  const bool isThere = !batch.context.onCuda() || !moving.voxelsOnCuda.empty();
  const RoomOnDevice room = isThere ? RoomOnDevice{} : roomFor(batch, moving, type);
  std::vector<ResampleSource<D>> added;
  for (const ImagePointer<D>& component : moving.components) {
    interpolators.push_back(batch.makeInterpolator(moving.isLabels));
    Interpolator<D>& interpolator = *interpolators.back();
    added.push_back({&interpolator, moving.valid, {}, batch.outsideOf(task)});
    if (room.isEnough()) {
      interpolator.prepareForLevel(batch.context, component, 0);
      continue;
    }
    if (interpolator.readsVoxels())
      interpolator.prepareForLevel(host, component, 0);
    added.back().inSlices = std::make_shared<SliceWindowOnCuda<D>>(
        component, slicesAtOnce(batch, moving, type, room, interpolator));
  }
  const std::size_t count = sources.size() + added.size();
  sources.reserve(count); // from here on nothing throws, so that both have as many elements
  types.reserve(count);
  sources.insert(sources.end(), added.begin(), added.end());
  types.resize(count, type);
}

TESSERA_INSTANTIATE_CLASS_TO_4(BatchSources);
TESSERA_INSTANTIATE_FUNCTIONS_TO_4(failForDevice<D>);

}
