#pragma once

#include "Core/Image/Files/ImageHeader.h"
#include "Core/Registration/Interpolator.h"

#include <string>

namespace tessera {

/// What images may take of memory.
struct MemoryBudget {
  double bytes;
  std::string text; // for messages: "--max-memory gives 7 MB"

  /// By --max-memory, or, if that is 0, by what is free.
  explicit MemoryBudget(double maxMemory);

  /// How many of the threads may hold pieces of a file on their way from or to it: what these take beside
  /// `bytes` is at most 8 MB, or a sixteenth of `bytes` if that is more, or what one takes. Files of so many
  /// bytes before compression.
  int threadsForFiles(int threads, double fileBytes) const;
};

/// What an image that is resampled takes of the host's memory, a voxel and component.
template <int D>
double resampledBytes(const Context&, const Interpolator<D>&);

/// The most that an image takes of memory, be it while it is read or while it is resampled.
double movingBytes(const ImageHeader&, bool isLabels, double resampledBytes);

}
