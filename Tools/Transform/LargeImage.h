#pragma once

#include "Tools/Transform/ImageBatch.h"
#include "Tools/Transform/MemoryBudget.h"

#include <algorithm>
#include <string>

namespace tessera {

/// An image of a batch that is not resampled in one piece, and what there is for it.
struct LargeImage {
  const ImageTask& task;
  std::string path; // of the result
  double movingBytes = 0,
         resultBytes =
             0; // as a whole, in memory; of an image that goes from its file to a GPU the host has none
  const MemoryBudget& budget;
  double asAWholeBytes = movingBytes; // if it does not go there

  int threadsForFiles(int threads) const
  {
    constexpr double mostInFile = 2; // eight bytes a component, that is four in memory
    return budget.threadsForFiles(threads, mostInFile * std::max(movingBytes, resultBytes));
  }
  std::string given() const { return task.option + ": " + task.input + ": "; }
  /// Throws Error(outOfMemory): "-in: brain.mha: `takes`, --max-memory gives 7 MB`wrong`. Allowed: at least
  /// 20 MB`orElse`."
  [[noreturn]] void fail(const std::string& takes, const std::string& wrong, double enoughBytes,
                         const std::string& orElse = "") const;
};

/// Throws Error(outOfMemory) unless the result can be written in slabs.
template <int D>
void requireSlabs(const ImageBatch<D>&, const LargeImage&, std::size_t components);

/// The least of the result that must be in memory at a time: a slice, or all of what cannot be written in
/// slabs.
template <int D>
double leastResultBytes(const ImageBatch<D>&, const LargeImage&, std::size_t components);

/// What became of it.
struct LargeImageReport {
  std::vector<std::string> notes, warnings;
  double readSeconds = 0; // the rest: resampling and writing
};

/// Reads, resamples and writes an image that does not fit in memory beside one slice of its result: of the
/// image, too, no more is there than the slices that a slab of the result is made of. The file has the bytes
/// that it has of the image as a whole. Throws Error(outOfMemory) where that cannot be, with the reason; and
/// as readMovingImage and ResultFile.
template <int D>
LargeImageReport resampleLargeImage(const ImageBatch<D>&, const LargeImage&);

}
