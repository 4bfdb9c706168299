#pragma once

#include "Core/Compute/Buffer.h"
#include "Core/Image/LabelImage.h"
#include "Tools/Transform/ImageTasks.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// An image of -in or --labels as it is resampled: an image of each component, all with the same voxels that are numbers.
template <int D>
struct MovingImage {
  std::vector<ImagePointer<D>> components;
  MaskPointer<D> valid;             // null: every voxel is a number
  std::optional<LabelTable> labels; // of a label map
  std::vector<std::string> notes, warnings;
  // What keeps voxels of the two on a CUDA device, if the host has none.
  std::vector<std::shared_ptr<const Buffer<float>>> voxelsOnCuda; // until interpolators have them
  std::shared_ptr<const Buffer<std::uint8_t>> validOnCuda;        // until the image is resampled

  const ImageGeometry<D>& geometry() const { return components.front()->geometry; }
};

/// Colour becomes luminance; other images keep their components: `meaning` is what the header says. `outside` is the value that
/// label maps have outside of themselves. Throws Error naming the option and the file.
template <int D>
MovingImage<D> readMovingImage(const ImageTask&, PixelMeaning meaning, bool useDirectionCosines, double outside, int threads);

/// Adds what users should know of such voxels; nothing if there are none.
void warnOfNonFinite(const std::string& path, std::size_t voxels, std::vector<std::string>& warnings);

/// The components of a resampled image, or of a slab of it, each in an array of its own.
using ComponentPixels = std::vector<std::unique_ptr<std::byte[]>>;

/// The voxels of a resampled image, written slab by slab.
template <int D>
class ResultFile {
public:
  /// As which pixels an image is to be resampled whose file has voxels of `ofImages`, if it is no label map: a label map keeps its
  /// own type, and what stands for its labels is float.
  static PixelType resampledType(const std::optional<LabelTable>&, PixelType ofImages);
  static PixelType resampledType(const MovingImage<D>& moving, PixelType ofImages)
  {
    return resampledType(moving.labels, ofImages);
  }

  /// `type` is that of the components of what is no label map. Of the labels, which must outlive this, write() takes what they are
  /// at the time. Throws Error(unwritableOutput).
  ResultFile(const std::string& path, const ImageGeometry<D>& output, const std::optional<LabelTable>& labels, int components,
             PixelType type, bool compress, int threads);
  ResultFile(const std::string& path, const ImageGeometry<D>& output, const MovingImage<D>& moving, PixelType type, bool compress,
             int threads)
      : ResultFile(path, output, moving.labels, static_cast<int>(moving.components.size()), type, compress, threads)
  {
  }

  /// Whether write() may be called more than once.
  bool takesSlabs() const { return slabs_ != nullptr; }

  /// The next `voxels`, of resampledType. Leaves nothing of use in them. Throws Error(unwritableOutput).
  void write(ComponentPixels& components, std::size_t voxels);

  void commit();

private:
  std::string path_;
  ImageGeometry<D> output_;
  const std::optional<LabelTable>& labels_;
  PixelType type_;
  int components_;
  bool compress_;
  int threads_;
  std::unique_ptr<ImageFileSlabs<D>> slabs_; // null: the format wants all voxels at once
};

}
