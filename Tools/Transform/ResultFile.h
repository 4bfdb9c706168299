#pragma once

#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Voxels/LabelTable.h"
#include "Tools/Transform/ImageBatch.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera {

/// The components of a resampled image, or of a slab of it, each in an array of its own.
using ComponentPixels = std::vector<std::unique_ptr<std::byte[]>>;

/// "3 slabs of 5 slices"
std::string slabsText(std::size_t slices, std::size_t slicesAtOnce);

/// The file of a resampled image.
template <int D>
class ResultFile {
public:
  /// As which pixels an image is to be resampled whose file has voxels of `ofImages`, if it is no label map:
  /// a label map keeps its own type, and what stands for its labels is float.
  static PixelType resampledType(const std::optional<LabelTable>&, PixelType ofImages);

  /// The batch and the labels must outlive this; of the latter, write() takes what they are at the time. So
  /// many threads write. Throws Error(unwritableOutput).
  ResultFile(const ImageBatch<D>&, const std::string& path, const std::optional<LabelTable>& labels,
             std::size_t components, int threads);

  /// The next `voxels`, of resampledType; more than once if the format takes slabs. Leaves nothing of use in
  /// them. Throws Error(unwritableOutput).
  void write(ComponentPixels& components, std::size_t voxels);

  /// Resamples the components and writes them, so many slices of the result at a time. bring(slab) comes
  /// before each of them: the sources need no more than what the slab asks for.
  void writeSlabs(std::span<const ResampleSource<D>> components, std::size_t slicesAtOnce,
                  const std::function<void(const SliceRange& slab)>& bring);

  void commit();

private:
  const ImageBatch<D>& batch_;
  std::string path_;
  const std::optional<LabelTable>& labels_;
  PixelType type_;
  int components_;
  int threads_;
  std::unique_ptr<ImageFileSlabs<D>> slabs_; // null: the format wants all voxels at once
};

}
