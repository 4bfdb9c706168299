#pragma once

#include "Core/Compute/Memory/Buffer.h"
#include "Core/Image/Voxels/PixelType.h"
#include "Core/Runs/Resampling/ImageTask.h"

#include <memory>
#include <span>

namespace tessera {

/// The pixels of an image on a CUDA device.
struct PixelsOnCuda {
  Context context;
  Buffer<std::byte> pixels;
};

/// A resampled image.
template <int D>
struct ResultImage {
  ImageGeometry<D> geometry; // with the direction of the header that names the grid
  PixelType type = PixelType::float32;
  int components = 1;
  std::unique_ptr<std::byte[]> pixels = {};  // x fastest, components interleaved; null: there is none
  std::size_t clamped = 0;                   // values that the type does not hold
  std::shared_ptr<PixelsOnCuda> onCuda = {}; // in place of `pixels`; null: they are not there

  std::size_t byteCount() const
  {
    return geometry.voxelCount() * static_cast<std::size_t>(components) * pixelTypeSize(type);
  }
  std::span<const std::byte> bytes() const { return {pixels.get(), byteCount()}; }
};

/// Takes the voxels of one resampled image.
class ResultStream {
public:
  virtual ~ResultStream() = default;
  /// Takes the next voxels, in this many bytes: x fastest, components interleaved.
  virtual void write(std::unique_ptr<std::byte[]> voxels, std::size_t bytes) = 0;
  /// Completes the image after its last voxel. Without it, nobody sees the image.
  virtual void commit() = 0;
};

/// Where the images of a batch go. Several are open at the same time, each in a thread of its own.
template <int D>
class ResultSink {
public:
  virtual ~ResultSink() = default;
  /// Whether the image can be written in several parts.
  virtual bool takesSlabs(const ImageTask&, const ImageGeometry<D>&, int components) const = 0;
  /// `image` has no voxels. `threads` may compress them. Throws Error(unwritableOutput).
  virtual std::unique_ptr<ResultStream> open(const ImageTask&, ResultImage<D> image, int threads) = 0;
  /// What the log calls the result.
  virtual std::string nameOf(const ImageTask&) const = 0;
};

}
