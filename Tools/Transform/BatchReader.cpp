#include "Tools/Transform/BatchReader.h"

#include "Core/Compute/DeviceMemory.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Memory.h"
#include "Tools/Transform/LargeImage.h"
#include "Tools/Transform/MovingToCuda.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr double resultCopies = 2; // as it is resampled, and what of it is put in order for the file
constexpr double longChunks =
    128e6; // bytes of a device: what results are computed in if there is more room than they need

}

template <int D>
BatchReader<D>::BatchReader(const ImageBatch<D>& batch, const MemoryBudget& ofHost)
    : batch_(batch), ofHost_(ofHost),
      usableDeviceBytes_(batch.context.onCuda() ? usableDeviceMemory(batch.context) : 0)
{
}

template <int D>
BatchItem<D> BatchReader<D>::sized(ImageTask& task)
{
  BatchItem<D> item;
  item.task = &task;
  const auto size = [&] {
    const ImageHeader& header = headerOf(task);
    geometryOf<D>(header);
    item.meaning = header.meaning;
    item.components = header.meaning == PixelMeaning::vector && !task.isLabels ? header.components : 1;
    item.asAWholeBytes = movingBytes(
        header, task.isLabels, resampledBytes<D>(batch_.context, *batch_.makeInterpolator(task.isLabels)));
    if (batch_.context.onCuda())
      item.deviceBytes = MovingToCuda<D>::deviceBytes(batch_, header, task.isLabels);
    item.isBrought =
        batch_.context.onCuda() && MovingToCuda<D>::takes(header) && item.deviceBytes <= usableDeviceBytes_;
    item.movingBytes = item.isBrought ? 0 : item.asAWholeBytes;
    const PixelType type = task.isLabels ? header.componentType : batch_.pixelType;
    const std::size_t bytesOfPixel =
        std::max(sizeof(float), pixelTypeSize(type)); // labels may be numbered, by floats
    item.resultBytes =
        extentCount(batch_.lattice.size) * item.components * resultCopies * static_cast<double>(bytesOfPixel);
    item.leastResultBytes = item.resultBytes / static_cast<double>(batch_.lattice.size[D - 1]);
    if (batch_.context.onCuda()) // which has the image in slices, whether or not the result can be written so
      item.leastResultBytes = leastResultBytes<D>(
          batch_, {task, batch_.pathOf(task), 0, item.resultBytes, ofHost_}, item.components);
  };
  attempt(item, item.readSeconds, [&] { withContext(task.option, size); });
  mostDeviceBytes_ = std::max(mostDeviceBytes_, item.deviceBytes);
  return item;
}

template <int D>
bool BatchReader<D>::isLarge(const BatchItem<D>& item) const
{
  return item.movingBytes + item.leastResultBytes > ofHost_.bytes;
}

template <int D>
int BatchReader<D>::threadsFor(const BatchItem<D>& item) const
{
  return LargeImage{*item.task, "", item.asAWholeBytes, item.resultBytes, ofHost_}.threadsForFiles(
      batch_.context.threads);
}

/// To the device, unless that would leave less of it.
template <int D>
void BatchReader<D>::bring(BatchItem<D>& item, double leftBytes) const
{
  std::optional<MovingToCuda<D>> image;
  {
    const std::lock_guard lock(takingDeviceMemory_);
    if (item.deviceBytes + leftBytes > usableDeviceMemory(batch_.context))
      return;
    image.emplace(batch_, *item.task, threadsFor(item));
  }
  if (std::optional<MovingImage<D>> brought = image->read())
    item.moving = std::move(*brought);
}

template <int D>
void BatchReader<D>::read(BatchItem<D>& item) const
{
  if (isRead(item) || isLarge(item))
    return;
  attempt(item, item.readSeconds, [&] {
    if (item.isBrought)
      bring(item, 0);
    if (isRead(item))
      return;
    item.isBrought = false; // another program has the memory, or the host must number its labels
    item.movingBytes = item.asAWholeBytes;
    if (!isLarge(item))
      item.moving = readMovingImage<D>(*item.task, item.meaning, batch_.useDirectionCosines,
                                       batch_.resampler.outsideValue(), threadsFor(item));
  });
}

template <int D>
void BatchReader<D>::readAhead(BatchItem<D>& item) const
{
  if (!item.isBrought)
    return read(item);
  if (!isLarge(item)) // what is resampled meanwhile must find the memory that it needs
    attempt(item, item.readSeconds, [&] { bring(item, mostDeviceBytes_ + longChunks); });
}

template class BatchReader<2>;
template class BatchReader<3>;

}
