#pragma once

#include "Core/Image/Files/ImageHeader.h"
#include "Core/Registration/Interpolator.h"

#include <string>

namespace tessera {

/// The host memory that images may take.
struct MemoryBudget {
  double bytes;
  std::string text; // for messages: "--max-memory gives 7 MB"

  /// `maxMemory` bytes, or a share of the free memory if it is 0.
  explicit MemoryBudget(double maxMemory);

  /// The number of threads, at most `threads`, that may compress or inflate pieces of a file at the same
  /// time. Their pieces come on top of `bytes`: together at most 8 MB, or a sixteenth of `bytes` if that is
  /// more, or the pieces of one thread.
  int threadsForFiles(int threads) const;
};

/// Bytes of host memory a voxel and component while an image is resampled.
template <int D>
double resampledBytes(const Context&, const Interpolator<D>&);

/// The largest number of bytes that an image takes of host memory at any time, while it is read or while it
/// is resampled.
double movingBytes(const ImageHeader&, bool isLabels, double resampledBytes);

}
