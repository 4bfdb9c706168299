#include "Core/Runs/Resampling/BatchReader.h"

#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Image/Voxels/ImageToCuda.h"
#include "Core/Runs/Resampling/LargeImage.h"
#include "Core/Runs/Resampling/MemoryOnDevice.h"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

constexpr double resultCopies = 2; // the resampled pixels, and a copy in the order of the file
// Device memory that the resampler uses for longer chunks of a result if it is free.
constexpr double longChunkBytes = 128e6;

/// Reads an image of a batch from its file to the CUDA device in pieces, so that the host never holds all of
/// it.
template <int D>
class MovingToCuda {
public:
  /// Whether the file can be read in pieces.
  static bool canRead(const ImageHeader& header) { return header.hasRanges; }
  /// The largest number of bytes that the image takes of the device, until it is resampled.
  static double deviceBytes(const ImageBatch<D>& batch, const ImageTask& task)
  {
    const ImageHeader& header = *task.header;
    SizeOnDevice<D> size = sizeOnDevice<D>(header, task.isLabels, batch.typeOf(task));
    size.voxelsComeFirst = true;
    return memoryOnDevice<D>(batch, size).bytes() + VoxelsToCuda<D>::deviceBytes(header);
  }

  /// Opens the file and allocates device memory for the voxels. `threads` read the file. Throws as
  /// readMovingImage, and Error(outOfMemory).
  MovingToCuda(const ImageBatch<D>& batch, const ImageTask& task, int threads)
      : task_(task),
        outside_(batch.outsideOf(task)), context_{batch.context.device, threads, batch.context.stream}
  {
    reader_.emplace(openInSlices<D>(task, outside_));
    upload_.emplace(context_, *reader_, batch.placed(reader_->geometry()));
  }
  MovingToCuda(const MovingToCuda&) = delete;
  MovingToCuda& operator=(const MovingToCuda&) = delete;

  /// The image as readMovingImage gives it, with its voxels on the device. Empty for a label map whose labels
  /// floats cannot hold: such labels are numbered on the host. Throws as readMovingImage.
  std::optional<MovingImage<D>> read()
  {
    std::optional<ImagesOnCuda<D>> images = withContext(task_.option, [&] { return upload_->run(); });
    if (!images)
      return std::nullopt;
    MovingImage<D> moving;
    moving.components = std::move(images->images);
    moving.valid = std::move(images->valid);
    moving.voxelsOnCuda = std::move(images->voxels);
    moving.validOnCuda = std::move(images->validVoxels);
    moving.isLabels = task_.isLabels;
    if (task_.isLabels)
      moving.labels.emplace(reader_->header().componentType, outside_);
    moving.notes = reader_->notes();
    warnOfNonFinite(task_.input.path, reader_->nonFiniteVoxels(), moving.warnings);
    return moving;
  }

private:
  const ImageTask& task_;
  double outside_;
  Context context_;
  std::optional<SliceReader<D>> reader_;
  std::optional<ImageToCuda<D>> upload_;
};

}

template <int D>
BatchReader<D>::BatchReader(const ImageBatch<D>& batch, const MemoryBudget& memory)
    : batch_(batch), memory_(memory),
      usableDeviceBytes_(batch.context.onCuda() ? usableDeviceMemory(batch.context) : 0)
{
}

template <int D>
BatchItem<D> BatchReader<D>::sized(ImageTask& task)
{
  BatchItem<D> item;
  item.task = &task;
  const auto size = [&] {
    if (task.failure)
      std::rethrow_exception(task.failure);
    if (headerOf(task); D == 2)
      task.header = asPlane(std::move(*task.header));
    const ImageHeader& header = *task.header;
    geometryOf<D>(header);
    const std::unique_ptr<Interpolator<D>> interpolator = batch_.makeInterpolator(task.isLabels);
    task.isExact = !task.isLabels && task.input.isFile() && !task.load && interpolator->order(0) == 0
                   && batch_.typeOf(task) != PixelType::float32 && !isFloatingPoint(header.componentType)
                   && LabelTable::mayBeNumbered(header.componentType) && header.components == 1;
    item.meaning = header.meaning;
    item.components = header.meaning == PixelMeaning::vector && !task.isLabels ? header.components : 1;
    item.wholeImageBytes =
        movingBytes(header, task.isLabels || task.isExact, resampledBytes<D>(batch_.context, *interpolator));
    if (batch_.context.onCuda())
      item.deviceBytes = MovingToCuda<D>::deviceBytes(batch_, task);
    item.isReadToDevice =
        batch_.context.onCuda() && MovingToCuda<D>::canRead(header) && item.deviceBytes <= usableDeviceBytes_;
    item.movingBytes = item.isReadToDevice || !(task.input.isFile() || task.load) ? 0 : item.wholeImageBytes;
    const PixelType type = task.isLabels ? header.componentType : batch_.typeOf(task);
    // floats stand for labels that are numbered
    const std::size_t bytesOfPixel = std::max(sizeof(float), pixelTypeSize(type));
    item.resultBytes =
        extentCount(batch_.lattice.size) * item.components * resultCopies * static_cast<double>(bytesOfPixel);
    item.minResultBytes = item.resultBytes / static_cast<double>(batch_.lattice.size[D - 1]);
    if (batch_.context.onCuda()) // whether the format can be written in slabs decides
      item.minResultBytes = minResultBytes<D>(batch_, {task, 0, item.resultBytes, memory_},
                                              static_cast<std::size_t>(item.components));
  };
  attempt(item, item.readSeconds, [&] { withContext(task.option, size); });
  maxDeviceBytes_ = std::max(maxDeviceBytes_, item.deviceBytes);
  return item;
}

/// Reads the image to the device, unless less than `reservedBytes` of its memory would stay free.
template <int D>
void BatchReader<D>::readToDevice(BatchItem<D>& item, double reservedBytes) const
{
  std::optional<MovingToCuda<D>> image;
  {
    const std::lock_guard lock(allocatingOnDevice_);
    if (item.deviceBytes + reservedBytes > usableDeviceMemory(batch_.context))
      return;
    image.emplace(batch_, *item.task, threadsForFiles());
  }
  if (std::optional<MovingImage<D>> moving = image->read())
    item.moving = std::move(*moving);
}

template <int D>
void BatchReader<D>::read(BatchItem<D>& item) const
{
  if (isRead(item) || isLarge(item))
    return;
  attempt(item, item.readSeconds, [&] {
    if (item.isReadToDevice)
      readToDevice(item, 0);
    if (isRead(item))
      return;
    // another program has taken the device's memory, or the host has to number the labels
    if (std::exchange(item.isReadToDevice, false))
      item.movingBytes = item.wholeImageBytes;
    if (isLarge(item))
      return;
    item.moving = readMovingImage<D>(*item.task, item.meaning, batch_.useDirectionCosines,
                                     batch_.outsideOf(*item.task), threadsForFiles());
    if (!item.task->isLabels)
      warnOfFractions<D>(*item.task, batch_.typeOf(*item.task), item.moving);
  });
}

template <int D>
void BatchReader<D>::readAhead(BatchItem<D>& item) const
{
  if (!item.isReadToDevice)
    return read(item);
  if (!isLarge(item)) // leave the memory that resampling other images needs meanwhile
    attempt(item, item.readSeconds, [&] { readToDevice(item, maxDeviceBytes_ + longChunkBytes); });
}

TESSERA_INSTANTIATE_CLASS_TO_4(BatchReader);

}
