#pragma once

#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Memory/DeviceMemory.h"
#include "Core/Image/Slices/SliceReader.h"
#include "Core/Runs/Resampling/LargeImage.h"
#include "Core/Runs/Resampling/MovingImage.h"
#include "Core/Runs/Resampling/ResultWriter.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace tessera {

/// The state and the steps that are the same on CPU and CUDA while a large image is read, resampled and
/// written.
template <int D>
class LargeImageRun {
public:
  /// Opens the image; the batch and the large image must outlive this. Throws as openInSlices.
  LargeImageRun(const ImageBatch<D>& images, const LargeImage& image)
      : batch(images), large(image), outside(images.outsideOf(image.task)),
        threads(image.budget.threadsForFiles(images.context.threads)), reader(openAgain()),
        geometry(images.placed(reader.geometry()))
  {
  }

  const ImageBatch<D>& batch;
  const LargeImage& large;
  const double outside; // value of voxels that are mapped outside of the image
  const int threads;    // for reading and writing files
  SliceReader<D> reader;
  const ImageGeometry<D> geometry; // grid of the image as the resampler sees it

  /// Another reader of the same file.
  SliceReader<D> openAgain() const { return openInSlices<D>(large.task, outside); }

  /// Calls an action that reads: its time counts as reading, and its errors begin with the option.
  template <class Action>
  void read(Action&& action)
  {
    const auto start = std::chrono::steady_clock::now();
    withContext(large.task.option, action);
    report_.readSeconds += secondsSince(start);
  }

  /// Throws Error(outOfMemory): the image would have to be in memory as a whole, because `whyNotInSlices`.
  [[noreturn]] void failAsAWhole(const std::string& whyNotInSlices) const
  {
    const double leastBytes = minResultBytes<D>(batch, large, reader.imageCount());
    large.fail("the image takes " + memoryText(large.wholeImageBytes) + " and "
                   + (leastBytes < large.resultBytes ? "a slice of its result " : "its result ")
                   + memoryText(leastBytes),
               ", and " + whyNotInSlices, large.wholeImageBytes + leastBytes);
  }

  /// The last step: writes the result, `slicesAtOnce` slices at a time, and calls prepare(slab) before each
  /// slab. The log has the number of slabs and `logSuffix`.
  LargeImageReport write(std::span<const ResampleSource<D>> sources, std::size_t slicesAtOnce,
                         const std::string& logSuffix,
                         const std::function<void(const SliceRange& slab)>& prepare)
  {
    batch.log.detail("  " + large.task.input.path + ": " + slabsText(resultSlices(), slicesAtOnce)
                     + logSuffix);
    ResultWriter<D> file(batch, large.task, reader.labels(), sources.size(), threads);
    file.writeSlabs(sources, slicesAtOnce, prepare);
    read([&] { reader.finish(threads); });
    file.commit();
    report_.notes = reader.notes();
    report_.clamped = file.clamped();
    warnOfNonFinite(large.task.input.path, reader.nonFiniteVoxels(), report_.warnings);
    return report_;
  }

  std::size_t resultSlices() const { return batch.lattice.size[D - 1]; }
  double resultSliceBytes() const { return large.resultBytes / static_cast<double>(resultSlices()); }

private:
  LargeImageReport report_;
};

}
