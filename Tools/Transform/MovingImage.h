#pragma once

#include "Core/Compute/Buffer.h"
#include "Core/Image/Slices/SliceReader.h"
#include "Core/Image/Voxels/LabelImage.h"
#include "Tools/Transform/ImageTasks.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// An image of -in or --labels as it is resampled: an image of each component, all with the same voxels that
/// are numbers.
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

/// Colour becomes luminance; other images keep their components: `meaning` is what the header says. `outside`
/// is the value that label maps have outside of themselves. Throws Error naming the option and the file.
template <int D>
MovingImage<D> readMovingImage(const ImageTask&, PixelMeaning meaning, bool useDirectionCosines,
                               double outside, int threads);

/// The same file for its slices. Errors name the option and the file.
template <int D>
SliceReader<D> openInSlices(const ImageTask&, double outside);

/// Adds what users should know of such voxels; nothing if there are none.
void warnOfNonFinite(const std::string& path, std::size_t voxels, std::vector<std::string>& warnings);

/// Adds which label is written outside of a label map that cannot hold `outside`; nothing for other images.
void warnOfOutsideLabel(const std::string& path, const std::optional<LabelTable>&, double outside,
                        std::vector<std::string>& warnings);

}
