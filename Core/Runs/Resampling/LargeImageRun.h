#pragma once

#include "Core/Compute/ErrorContext.h"
#include "Core/Image/Slices/SliceReader.h"
#include "Core/Runs/Resampling/LargeImage.h"

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
  LargeImageRun(const ImageBatch<D>&, const LargeImage&);

  const ImageBatch<D>& batch;
  const LargeImage& large;
  const int threads; // for reading and writing files
  SliceReader<D> reader;
  const ImageGeometry<D> geometry; // grid of the image as the resampler sees it

  /// Another reader of the same file.
  SliceReader<D> openAgain() const;

  /// Calls an action that reads: its time counts as reading, and its errors begin with the option.
  template <class Action>
  void read(Action&& action)
  {
    const auto start = std::chrono::steady_clock::now();
    withContext(large.task.option, action);
    report_.readSeconds += secondsSince(start);
  }

  /// Throws Error(outOfMemory): the image would have to be in memory as a whole, because `whyNotInSlices`.
  [[noreturn]] void failAsAWhole(const std::string& whyNotInSlices) const;

  /// The last step: writes the result, `slicesAtOnce` slices at a time, and calls prepare(slab) before each
  /// slab. The log has the number of slabs and `logSuffix`.
  LargeImageReport write(std::span<const ResampleSource<D>>, std::size_t slicesAtOnce,
                         const std::string& logSuffix,
                         const std::function<void(const SliceRange& slab)>& prepare);

  std::size_t resultSlices() const { return batch.lattice.size[D - 1]; }
  double resultSliceBytes() const { return large.resultBytes / static_cast<double>(resultSlices()); }

private:
  LargeImageReport report_;
};

}
