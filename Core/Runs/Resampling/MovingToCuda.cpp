#include "Core/Runs/Resampling/MovingToCuda.h"

#include "Core/Compute/ErrorContext.h"
#include "Core/Runs/Resampling/MemoryOnDevice.h"

namespace tessera {

template <int D>
double MovingToCuda<D>::deviceBytes(const ImageBatch<D>& batch, const ImageHeader& header, bool isLabels)
{
  SizeOnDevice<D> size = sizeOnDevice<D>(header, isLabels, batch.pixelType);
  size.voxelsComeFirst = true;
  return memoryOnDevice<D>(batch, size).bytes() + VoxelsToCuda<D>::deviceBytes(header);
}

template <int D>
MovingToCuda<D>::MovingToCuda(const ImageBatch<D>& batch, const ImageTask& task, int threads)
    : task_(task),
      outside_(batch.resampler.outsideValue()), context_{batch.context.device, threads, batch.context.stream}
{
  reader_.emplace(openInSlices<D>(task, outside_));
  upload_.emplace(context_, *reader_, batch.placed(reader_->geometry()));
}

template <int D>
std::optional<MovingImage<D>> MovingToCuda<D>::read()
{
  std::optional<ImagesOnCuda<D>> images = withContext(task_.option, [&] { return upload_->run(); });
  if (!images)
    return std::nullopt;
  MovingImage<D> moving;
  moving.components = std::move(images->images);
  moving.valid = std::move(images->valid);
  moving.voxelsOnCuda = std::move(images->voxels);
  moving.validOnCuda = std::move(images->validVoxels);
  if (task_.isLabels)
    moving.labels.emplace(reader_->header().componentType, outside_);
  moving.notes = reader_->notes();
  warnOfOutsideLabel(task_.input, moving.labels, outside_, moving.warnings);
  warnOfNonFinite(task_.input, reader_->nonFiniteVoxels(), moving.warnings);
  return moving;
}

template class MovingToCuda<2>;
template class MovingToCuda<3>;

}
