#include "Tools/Transform/LargeImage.h"

#include "Core/Compute/Memory.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Slices/SliceWindow.h"
#include "Core/Registration/Interpolation/SliceInterpolator.h"
#include "Tools/Transform/LargeImageOnCuda.h"
#include "Tools/Transform/LargeImageRun.h"

namespace tessera {
namespace {

/// How many slices are in memory at a time.
struct SlicePlan {
  std::size_t ofResult = 0, ofImage = 0;
};

/// The most that any slab of so many slices asks for.
std::size_t mostAskedFor(const SlicesAskedFor& asked, std::size_t all, std::size_t ofSlab)
{
  std::size_t most = 0;
  for (std::size_t first = 0; first < all; first += ofSlab)
    most = std::max(most, asked.by({first, std::min(ofSlab, all - first)}).count);
  return most;
}

template <int D>
class LargeImageOnCpu : LargeImageRun<D> {
public:
  using LargeImageRun<D>::LargeImageRun;

  LargeImageReport run();

private:
  using LargeImageRun<D>::allSlices, LargeImageRun<D>::batch_, LargeImageRun<D>::failAsAWhole,
      LargeImageRun<D>::geometry_, LargeImageRun<D>::large_, LargeImageRun<D>::read,
      LargeImageRun<D>::reader_, LargeImageRun<D>::resultSliceBytes, LargeImageRun<D>::threads_;

  SlicesAskedFor slicesAskedFor() const;
  SlicePlan planned(const SlicesAskedFor&) const;
};

template <int D>
SlicesAskedFor LargeImageOnCpu<D>::slicesAskedFor() const
{
  const std::string cannot = "it cannot be read in slices: ";
  if (const std::string why = reader_.whyNot(); !why.empty())
    failAsAWhole(cannot + why);
  SlicesAskedFor asked = batch_.resampler.slicesAskedFor(
      batch_.chain, *batch_.makeInterpolator(large_.task.isLabels), geometry_, batch_.lattice);
  if (!asked.by)
    failAsAWhole(cannot + asked.whyNot);
  requireSlabs<D>(batch_, large_, reader_.imageCount());
  return asked;
}

template <int D>
SlicePlan LargeImageOnCpu<D>::planned(const SlicesAskedFor& asked) const
{
  const double sliceBytes = SliceWindow<D>::sliceBytes(reader_), beside = reader_.besideBytes();
  SlicePlan plan;
  double bytes = 0;
  for (plan.ofResult = allSlices(); plan.ofResult > 0; --plan.ofResult) {
    plan.ofImage = mostAskedFor(asked, allSlices(), plan.ofResult);
    bytes = beside + static_cast<double>(plan.ofImage) * sliceBytes
            + static_cast<double>(plan.ofResult) * resultSliceBytes();
    if (bytes <= large_.budget.bytes)
      return plan;
  }
  const double asAWhole = large_.movingBytes + resultSliceBytes();
  large_.fail(
      "a slice of its result takes " + memoryText(resultSliceBytes()) + " and asks for "
          + std::to_string(plan.ofImage) + " of the image's " + std::to_string(geometry_.size[D - 1])
          + " slices, of " + memoryText(sliceBytes) + " each"
          + (beside > 0 ? ", and " + memoryText(beside) + " to inflate its components side by side" : ""),
      "", std::min(bytes, asAWhole));
}

template <int D>
LargeImageReport LargeImageOnCpu<D>::run()
{
  const SlicesAskedFor asked = slicesAskedFor();
  read([&] { reader_.survey(threads_); });
  const SlicePlan plan = planned(asked);
  SliceWindow<D> window(reader_, geometry_, plan.ofImage);
  std::vector<std::unique_ptr<Interpolator<D>>> interpolators;
  std::vector<ResampleSource<D>> sources;
  for (std::size_t i = 0; i < reader_.imageCount(); ++i) {
    interpolators.push_back(batch_.makeInterpolator(large_.task.isLabels));
    sources.push_back({interpolators.back().get(), window.finite()});
  }
  const auto bring = [&](const SliceRange& slab) {
    const SliceRange needed = asked.by(slab);
    read([&] { window.moveTo(needed.first, needed.count, threads_); });
    for (std::size_t i = 0; i < interpolators.size(); ++i)
      dynamic_cast<SliceInterpolator<D>&>(*interpolators[i]).prepareForSlices(window.image(i));
  };
  return this->written(sources, plan.ofResult,
                       ", each of at most " + std::to_string(plan.ofImage) + " of the image's "
                           + std::to_string(geometry_.size[D - 1]),
                       bring);
}

template <int D>
bool writesSlabs(const ImageBatch<D>& batch, const LargeImage& large, std::size_t components)
{
  return ImageFileSlabs<D>::writes(large.path, batch.output, static_cast<int>(components));
}

}

void LargeImage::fail(const std::string& takes, const std::string& wrong, double enoughBytes,
                      const std::string& orElse) const
{
  throw Error(ExitCode::outOfMemory, given() + takes + ", " + budget.text + wrong + ". Allowed: at least "
                                         + memoryText(enoughBytes) + orElse + ".");
}

template <int D>
void requireSlabs(const ImageBatch<D>& batch, const LargeImage& large, std::size_t components)
{
  if (writesSlabs<D>(batch, large, components))
    return;
  const bool hasMoving = large.movingBytes > 0;
  large.fail((hasMoving ? "the image takes " + memoryText(large.movingBytes) + " and its result "
                        : "its result takes ")
                 + memoryText(large.resultBytes),
             ", and files of this kind cannot be written in slabs", large.movingBytes + large.resultBytes,
             ", or (ResultImageFormat) mha, mhd, nrrd, and for one component a voxel nii and nii.gz");
}

template <int D>
double leastResultBytes(const ImageBatch<D>& batch, const LargeImage& large, std::size_t components)
{
  const auto slices = static_cast<double>(batch.lattice.size[D - 1]);
  return writesSlabs<D>(batch, large, components) ? large.resultBytes / slices : large.resultBytes;
}

template <int D>
LargeImageReport resampleLargeImage(const ImageBatch<D>& batch, const LargeImage& large)
{
  return batch.context.onCuda() ? resampleLargeImageOnCuda<D>(batch, large)
                                : LargeImageOnCpu<D>(batch, large).run();
}

#define TESSERA_INSTANTIATE(D)                                                                               \
  template void requireSlabs(const ImageBatch<D>&, const LargeImage&, std::size_t);                          \
  template double leastResultBytes(const ImageBatch<D>&, const LargeImage&, std::size_t);                    \
  template LargeImageReport resampleLargeImage(const ImageBatch<D>&, const LargeImage&);
TESSERA_INSTANTIATE(2)
TESSERA_INSTANTIATE(3)
#undef TESSERA_INSTANTIATE

}
