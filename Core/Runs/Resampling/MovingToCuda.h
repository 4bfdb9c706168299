#pragma once

#include "Core/Image/Voxels/ImageToCuda.h"
#include "Core/Runs/Resampling/ImageBatch.h"
#include "Core/Runs/Resampling/MovingImage.h"

#include <optional>

namespace tessera {

/// Reads an image of a batch from its file to the CUDA device in pieces, so that the host never holds all of
/// it.
template <int D>
class MovingToCuda {
public:
  /// Whether the file can be read in pieces.
  static bool canRead(const ImageHeader& header) { return header.hasRanges; }
  /// The largest number of bytes that the image takes of the device, until it is resampled.
  static double deviceBytes(const ImageBatch<D>&, const ImageHeader&, bool isLabels);

  /// Opens the file and allocates device memory for the voxels. `threads` read the file. Throws as
  /// readMovingImage, and Error(outOfMemory).
  MovingToCuda(const ImageBatch<D>&, const ImageTask&, int threads);
  MovingToCuda(const MovingToCuda&) = delete;
  MovingToCuda& operator=(const MovingToCuda&) = delete;

  /// The image as readMovingImage gives it, with its voxels on the device. Empty for a label map whose labels
  /// floats cannot hold: such labels are numbered on the host. Throws as readMovingImage.
  std::optional<MovingImage<D>> read();

private:
  const ImageTask& task_;
  double outside_;
  Context context_;
  std::optional<SliceReader<D>> reader_;
  std::optional<ImageToCuda<D>> upload_;
};

}
