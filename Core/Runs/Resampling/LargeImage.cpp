#include "Core/Runs/Resampling/LargeImage.h"

#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Image/Slices/SliceWindow.h"
#include "Core/Runs/Resampling/LargeImageRun.h"

namespace tessera {
namespace {

/// The numbers of slices of the result and of the moving image that are in memory at a time.
struct SlicePlan {
  std::size_t resultSlices = 0, imageSlices = 0;
};

/// The largest number of image slices that any slab of `slabSlices` slices depends on.
std::size_t maxImageSlices(const SlicesAskedFor& asked, std::size_t resultSlices, std::size_t slabSlices)
{
  std::size_t largest = 0;
  for (std::size_t first = 0; first < resultSlices; first += slabSlices)
    largest = std::max(largest, asked.by({first, std::min(slabSlices, resultSlices - first)}).count);
  return largest;
}

template <int D>
class LargeImageOnCpu {
public:
  LargeImageOnCpu(const ImageBatch<D>& batch, const LargeImage& large) : run_(batch, large) {}

  LargeImageReport resample()
  {
    const SlicesAskedFor asked = slicesAskedFor();
    run_.read([&] { run_.reader.survey(run_.threads); });
    const SlicePlan plan = planned(asked);
    SliceWindow<D> window(run_.reader, run_.geometry, plan.imageSlices);
    std::vector<std::unique_ptr<Interpolator<D>>> interpolators;
    std::vector<ResampleSource<D>> sources;
    for (std::size_t i = 0; i < run_.reader.imageCount(); ++i) {
      interpolators.push_back(run_.batch.makeInterpolator(run_.large.task.isLabels));
      sources.push_back({interpolators.back().get(), window.finite(), {}, run_.outside});
    }
    const auto prepare = [&](const SliceRange& slab) {
      const SliceRange needed = asked.by(slab);
      run_.read([&] { window.moveTo(needed.first, needed.count, run_.threads); });
      for (std::size_t i = 0; i < interpolators.size(); ++i)
        interpolators[i]->prepareForSlices(window.image(i));
    };
    return run_.write(sources, plan.resultSlices,
                      ", each of at most " + std::to_string(plan.imageSlices) + " of the image's "
                          + std::to_string(run_.geometry.size[D - 1]),
                      prepare);
  }

private:
  SlicesAskedFor slicesAskedFor() const
  {
    const std::string cannot = "it cannot be read in slices: ";
    if (const std::string why = run_.reader.whyNot(); !why.empty())
      run_.failAsAWhole(cannot + why);
    const ImageBatch<D>& batch = run_.batch;
    SlicesAskedFor asked = batch.resampler.slicesAskedFor(
        batch.chain, *batch.makeInterpolator(run_.large.task.isLabels), run_.geometry, batch.lattice);
    if (!asked.by)
      run_.failAsAWhole(cannot + asked.whyNot);
    requireSlabs<D>(batch, run_.large, run_.reader.imageCount());
    return asked;
  }

  /// The thickest slabs that fit into memory together with the image slices that they depend on.
  SlicePlan planned(const SlicesAskedFor& asked) const
  {
    const double imageSliceBytes = SliceWindow<D>::sliceBytes(run_.reader),
                 inflatingBytes = run_.reader.besideBytes(), resultSliceBytes = run_.resultSliceBytes();
    SlicePlan plan;
    double bytes = 0;
    for (plan.resultSlices = run_.resultSlices(); plan.resultSlices > 0; --plan.resultSlices) {
      plan.imageSlices = maxImageSlices(asked, run_.resultSlices(), plan.resultSlices);
      bytes = inflatingBytes + static_cast<double>(plan.imageSlices) * imageSliceBytes
              + static_cast<double>(plan.resultSlices) * resultSliceBytes;
      if (bytes <= run_.large.budget.bytes)
        return plan;
    }
    const double wholeBytes = run_.large.movingBytes + resultSliceBytes;
    run_.large.fail("a slice of its result takes " + memoryText(resultSliceBytes) + " and asks for "
                        + std::to_string(plan.imageSlices) + " of the image's "
                        + std::to_string(run_.geometry.size[D - 1]) + " slices, of "
                        + memoryText(imageSliceBytes) + " each"
                        + (inflatingBytes > 0 ? ", and " + memoryText(inflatingBytes)
                                                    + " to inflate its components side by side"
                                              : ""),
                    "", std::min(bytes, wholeBytes));
  }

  LargeImageRun<D> run_;
};

template <int D>
bool writesSlabs(const ImageBatch<D>& batch, const LargeImage& large, std::size_t components)
{
  return batch.results.takesSlabs(large.task, batch.output, static_cast<int>(components));
}

}

void LargeImage::fail(const std::string& needed, const std::string& wrong, double enoughBytes,
                      const std::string& orElse) const
{
  throw Error(ExitCode::outOfMemory, errorPrefix() + needed + ", " + budget.text + wrong
                                         + ". Allowed: at least " + memoryText(enoughBytes) + orElse + ".");
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
double minResultBytes(const ImageBatch<D>& batch, const LargeImage& large, std::size_t components)
{
  const auto slices = static_cast<double>(batch.lattice.size[D - 1]);
  return writesSlabs<D>(batch, large, components) ? large.resultBytes / slices : large.resultBytes;
}

template <int D>
LargeImageReport resampleLargeImage(const ImageBatch<D>& batch, const LargeImage& large)
{
  if constexpr (D < 4) // transforms in 4D run on the CPU
    if (batch.context.onCuda())
      return resampleLargeImageOnCuda<D>(batch, large);
  return LargeImageOnCpu<D>(batch, large).resample();
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(requireSlabs<D>, minResultBytes<D>, resampleLargeImage<D>);

}
