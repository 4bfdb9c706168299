#pragma once

#include "Core/Image/Voxels/ImageToCuda.h"
#include "Tools/Transform/ImageBatch.h"
#include "Tools/Transform/MovingImage.h"

#include <optional>

namespace tessera {

/// An image of a batch that goes from its file to a CUDA device without the host having all of it.
template <int D>
class MovingToCuda {
public:
  /// Whether its file can be read so.
  static bool takes(const ImageHeader& header) { return header.hasRanges; }
  /// The most that it takes of the device, until it is resampled.
  static double deviceBytes(const ImageBatch<D>&, const ImageHeader&, bool isLabels);

  /// Takes the device's memory for its voxels; they are read by so many threads. Throws as readMovingImage,
  /// and Error(outOfMemory).
  MovingToCuda(const ImageBatch<D>&, const ImageTask&, int threads);
  MovingToCuda(const MovingToCuda&) = delete;
  MovingToCuda& operator=(const MovingToCuda&) = delete;

  /// As readMovingImage. Nothing if it is a label map whose labels floats do not hold, which the host
  /// numbers.
  std::optional<MovingImage<D>> read();

private:
  const ImageTask& task_;
  double outside_;
  Context context_;
  std::optional<SliceReader<D>> reader_;
  std::optional<ImageToCuda<D>> upload_;
};

}
