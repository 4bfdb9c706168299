#pragma once

#include "Core/Runs/Resampling/ImageBatch.h"
#include "Core/Runs/Resampling/MemoryBudget.h"

#include <string>

namespace tessera {

/// An image of a batch whose result is written in slabs, and the memory that there is for it.
struct LargeImage {
  const ImageTask& task;
  double movingBytes = 0; // host memory of the whole image; 0 if it is read straight to a CUDA device
  double resultBytes = 0; // host memory of the whole result
  const MemoryBudget& budget;
  double wholeImageBytes = movingBytes; // host memory of the whole image if it were read to the host

  std::string errorPrefix() const { return task.option + ": " + task.input.path + ": "; }
  /// Throws Error(outOfMemory) with a text like "-in: brain.mha: NEEDED, --max-memory gives 7 MBWRONG.
  /// Allowed: at least 20 MBORELSE.", where words in capitals stand for the arguments.
  [[noreturn]] void fail(const std::string& needed, const std::string& wrong, double enoughBytes,
                         const std::string& orElse = "") const;
};

/// Throws Error(outOfMemory) if the format of the result cannot be written in slabs.
template <int D>
void requireSlabs(const ImageBatch<D>&, const LargeImage&, std::size_t components);

/// The smallest part of the result that has to be in memory: one slice, or all of it if the format cannot be
/// written in slabs.
template <int D>
double minResultBytes(const ImageBatch<D>&, const LargeImage&, std::size_t components);

struct LargeImageReport {
  std::vector<std::string> notes, warnings;
  std::size_t clamped = 0; // values that the type of the result does not hold
  double readSeconds = 0;  // part of the time that was spent on reading
};

/// Reads, resamples and writes an image that does not fit into memory together with one slice of its result.
/// Only the slices that a slab of the result depends on are in memory. The file has the same bytes as if the
/// image were resampled as a whole. Throws Error(outOfMemory) with the reason where this is not possible;
/// otherwise throws as readMovingImage and ResultSink.
template <int D>
LargeImageReport resampleLargeImage(const ImageBatch<D>&, const LargeImage&);

/// The same on the CUDA device of the batch: slices of the image are read from the file to the device in
/// pieces of a few MB, and slabs of the result are copied back.
template <int D>
LargeImageReport resampleLargeImageOnCuda(const ImageBatch<D>&, const LargeImage&);

}
