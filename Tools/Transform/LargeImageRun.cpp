#include "Tools/Transform/LargeImageRun.h"

#include "Core/Compute/Memory.h"
#include "Tools/Transform/MovingImage.h"
#include "Tools/Transform/ResultFile.h"

namespace tessera {

template <int D>
LargeImageRun<D>::LargeImageRun(const ImageBatch<D>& batch, const LargeImage& large)
    : batch_(batch), large_(large), threads_(large.threadsForFiles(batch.context.threads)), reader_(opened()),
      geometry_(batch.placed(reader_.geometry()))
{
}

template <int D>
SliceReader<D> LargeImageRun<D>::opened() const
{
  return openInSlices<D>(large_.task, batch_.resampler.outsideValue());
}

template <int D>
void LargeImageRun<D>::failAsAWhole(const std::string& whyNotInSlices) const
{
  const double ofResult = leastResultBytes<D>(batch_, large_, reader_.imageCount());
  large_.fail("the image takes " + memoryText(large_.asAWholeBytes) + " and "
                  + (ofResult < large_.resultBytes ? "a slice of its result " : "its result ")
                  + memoryText(ofResult),
              ", and " + whyNotInSlices, large_.asAWholeBytes + ofResult);
}

template <int D>
LargeImageReport LargeImageRun<D>::written(std::span<const ResampleSource<D>> sources,
                                           std::size_t slicesAtOnce, const std::string& ofImage,
                                           const std::function<void(const SliceRange& slab)>& bring)
{
  batch_.log.detail("  " + large_.task.input + ": " + slabsText(allSlices(), slicesAtOnce) + ofImage);
  ResultFile<D> file(batch_, large_.path, reader_.labels(), sources.size(), threads_);
  file.writeSlabs(sources, slicesAtOnce, bring);
  read([&] { reader_.finish(threads_); });
  file.commit();
  report_.notes = reader_.notes();
  warnOfOutsideLabel(large_.task.input, reader_.labels(), batch_.resampler.outsideValue(), report_.warnings);
  warnOfNonFinite(large_.task.input, reader_.nonFiniteVoxels(), report_.warnings);
  return report_;
}

template class LargeImageRun<2>;
template class LargeImageRun<3>;

}
