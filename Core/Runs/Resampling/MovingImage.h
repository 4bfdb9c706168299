#pragma once

#include "Core/Compute/Log.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Image/Slices/SliceReader.h"
#include "Core/Image/Voxels/LabelImage.h"
#include "Core/Runs/Resampling/ImageTask.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// An image or label map ready for resampling: one scalar image for each component, and one mask for all of
/// them.
template <int D>
struct MovingImage {
  std::vector<ImagePointer<D>> components;
  MaskPointer<D> valid;             // 0 where a voxel is not a finite number; null: every voxel is one
  std::optional<LabelTable> labels; // for a label map, and for numbers that float does not hold
  bool isLabels = false;
  std::vector<std::string> notes, warnings;
  // Voxels and mask on the CUDA device, if the host does not have them.
  std::vector<std::shared_ptr<const Buffer<float>>> voxelsOnCuda; // kept until the interpolators hold them
  std::shared_ptr<const Buffer<std::uint8_t>> validOnCuda;        // kept until the image is resampled

  const ImageGeometry<D>& geometry() const { return components.front()->geometry; }
};

/// Reads all of an image into host memory; one that is there already is shared. `meaning` is that of its
/// header: colours become luminance, vectors keep their components. `outside` is the value that a label map
/// has outside its grid. Throws Error that begins with the option and the file.
template <int D>
MovingImage<D> readMovingImage(const ImageTask&, PixelMeaning meaning, bool useDirectionCosines,
                               double outside, int threads);

/// Adds a warning if the file has fractional values and `resultType` rounds them. The task has its header;
/// not for label maps.
template <int D>
void warnOfFractions(const ImageTask&, PixelType resultType, MovingImage<D>&);

/// Tells how many values of a result of `written` were clamped to its range, and which type holds them: as a
/// warning if `written` does not hold the range of the image's type, `ofImage`; else interpolation went
/// beyond it, which is a note. `where` begins the line. Nothing for 0.
void tellOfClamped(const std::string& where, std::size_t clamped, PixelType ofImage, PixelType written, Log&);

/// Opens the same file to be read slice by slice. Throws Error that begins with the option and the file.
template <int D>
SliceReader<D> openInSlices(const ImageTask&, double outside);

/// The warning that so many voxels are not finite numbers.
std::string nonFiniteText(const std::string& path, std::size_t voxels);
/// Adds that warning; none for 0.
void warnOfNonFinite(const std::string& path, std::size_t voxels, std::vector<std::string>& warnings);

}
