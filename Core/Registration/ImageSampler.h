#pragma once

#include "Core/Compute/Math/Random.h"
#include "Core/Parameters/Parameters.h"
#include "Core/Registration/Samples/Samples.h"

#include <optional>

namespace tessera {

/// What a sampler will give at a level, before it does.
template <int D>
struct SampleExtent {
  std::size_t listed = 0;                 // points of a list, at most
  std::optional<VoxelLattice<D>> lattice; // or voxels, at most
  double deviceBytes = 0;                 // of a CUDA device, beside the fixed image and its mask
};

/// What stands for a level's fixed image and mask until they are there.
template <int D>
struct SampledExtent {
  ImagePointer<D> fixed; // without voxels
  bool masked = false;
  MaskPointer<D> mask; // if it is read already, not eroded
};

/// Chooses where a level's cost looks: voxels or points of the fixed image, inside its mask.
template <int D>
class ImageSampler {
public:
  static constexpr const char* roleName = "ImageSampler";
  virtual ~ImageSampler() = default;

  /// The voxels that the next prepareForLevel may take; all of the image if it was never called.
  void setRegion(const VoxelBox<D>& region) { region_ = region; }
  /// `mask` is null for none. Throws Error(unreadableInput) if the mask is empty.
  virtual void prepareForLevel(Context&, const ImagePointer<D>& fixed, const MaskPointer<D>& mask,
                               std::size_t level) = 0;
  /// Of prepareForLevel and draw, with the region that was set.
  virtual SampleExtent<D> extentOfLevel(const SampledExtent<D>&, std::size_t level) const = 0;
  /// Gives back what the level has taken of a CUDA device; its samples are gone.
  virtual void endLevel() {}
  /// Replaces the samples. Full and Grid give the same ones each time.
  virtual void draw(Context&, const Draw&) = 0;
  /// Switches UseRandomSampleRegion off while step sizes are estimated; false if the sampler has no such
  /// thing.
  virtual bool setRandomRegion(bool /*on*/) { return false; }
  /// True if draws differ.
  virtual bool isRandom() const = 0;
  /// True if exact metric values are asked of these samples, as elastix asks a Grid sampler's.
  virtual bool givesExactValues() const { return false; }

  const SampleSet<D>& samples() const { return samples_; }

protected:
  VoxelBox<D> regionOf(const ImageGeometry<D>& geometry) const
  {
    return region_.value_or(wholeBox<D>(geometry));
  }
  VoxelBox<D> boxIn(const ImageGeometry<D>& geometry, const MaskPointer<D>& mask) const
  {
    return boxInMask<D>(geometry, regionOf(geometry), mask.get());
  }

  SampleSet<D> samples_;

private:
  std::optional<VoxelBox<D>> region_;
};

}
