#include "Core/Runs/Resampling/LargeImageRun.h"

#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Runs/Resampling/MovingImage.h"
#include "Core/Runs/Resampling/ResultFile.h"

namespace tessera {

template <int D>
LargeImageRun<D>::LargeImageRun(const ImageBatch<D>& images, const LargeImage& image)
    : batch(images), large(image), threads(image.threadsForFiles(images.context.threads)),
      reader(openAgain()), geometry(images.placed(reader.geometry()))
{
}

template <int D>
SliceReader<D> LargeImageRun<D>::openAgain() const
{
  return openInSlices<D>(large.task, batch.resampler.outsideValue());
}

template <int D>
void LargeImageRun<D>::failAsAWhole(const std::string& whyNotInSlices) const
{
  const double leastBytes = minResultBytes<D>(batch, large, reader.imageCount());
  large.fail("the image takes " + memoryText(large.wholeImageBytes) + " and "
                 + (leastBytes < large.resultBytes ? "a slice of its result " : "its result ")
                 + memoryText(leastBytes),
             ", and " + whyNotInSlices, large.wholeImageBytes + leastBytes);
}

template <int D>
LargeImageReport LargeImageRun<D>::write(std::span<const ResampleSource<D>> sources, std::size_t slicesAtOnce,
                                         const std::string& logSuffix,
                                         const std::function<void(const SliceRange& slab)>& prepare)
{
  batch.log.detail("  " + large.task.input + ": " + slabsText(resultSlices(), slicesAtOnce) + logSuffix);
  ResultFile<D> file(batch, large.path, reader.labels(), sources.size(), threads);
  file.writeSlabs(sources, slicesAtOnce, prepare);
  read([&] { reader.finish(threads); });
  file.commit();
  report_.notes = reader.notes();
  warnOfOutsideLabel(large.task.input, reader.labels(), batch.resampler.outsideValue(), report_.warnings);
  warnOfNonFinite(large.task.input, reader.nonFiniteVoxels(), report_.warnings);
  return report_;
}

template class LargeImageRun<2>;
template class LargeImageRun<3>;

}
