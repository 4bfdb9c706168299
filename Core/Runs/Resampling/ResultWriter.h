#pragma once

#include "Core/Image/Voxels/LabelTable.h"
#include "Core/Runs/Resampling/ImageBatch.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera {

/// Pixels of a resampled image or of a slab of it: one array for each component.
using ComponentPixels = std::vector<std::unique_ptr<std::byte[]>>;

/// Text for the log: "3 slabs of 5 slices".
std::string slabsText(std::size_t slices, std::size_t slicesAtOnce);

/// Brings a resampled image to the batch's results, as a whole or slab by slab.
template <int D>
class ResultWriter {
public:
  /// The pixel type in which an image is resampled: float for numbers that stand for labels, else the type of
  /// a label map, or `imageType`.
  static PixelType resampledType(const std::optional<LabelTable>&, bool isLabels, PixelType imageType);

  /// The batch and the labels must outlive this; write() uses the labels as they are when it is called.
  /// `threads` compress and write. Throws Error(unwritableOutput).
  ResultWriter(const ImageBatch<D>&, const ImageTask&, const std::optional<LabelTable>& labels,
               std::size_t components, int threads);

  /// Writes the next `voxels` of resampledType, and uses up their arrays. Can be called more than once if the
  /// results take slabs. Throws Error(unwritableOutput).
  void write(ComponentPixels& components, std::size_t voxels);

  /// Resamples and writes the sources, `slicesAtOnce` slices of the result at a time. prepare(slab) is called
  /// before each slab: it has to make the part of the sources available that the slab needs.
  void writeSlabs(std::span<const ResampleSource<D>> components, std::size_t slicesAtOnce,
                  const std::function<void(const SliceRange& slab)>& prepare);

  void commit() { stream_->commit(); }
  /// The number of values that the type of the result does not hold, of those written so far; without those
  /// of label maps.
  std::size_t clamped() const { return clamped_; }

private:
  const ImageBatch<D>& batch_;
  const std::optional<LabelTable>& labels_;
  bool isLabels_; // else labels_ has numbers of an image
  PixelType type_;
  int threads_;
  std::size_t clamped_ = 0;
  std::unique_ptr<ResultStream> stream_;
};

}
