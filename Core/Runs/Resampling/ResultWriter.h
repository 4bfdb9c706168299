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
  /// The pixel type in which an image is resampled: `imageType` if it is no label map; else the type of the
  /// labels, or float for the numbers that stand for them.
  static PixelType resampledType(const std::optional<LabelTable>&, PixelType imageType);

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

private:
  const ImageBatch<D>& batch_;
  const std::optional<LabelTable>& labels_;
  PixelType type_;
  int threads_;
  std::unique_ptr<ResultStream> stream_;
};

}
