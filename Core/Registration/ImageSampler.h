#pragma once

#include "Core/Compute/Math/Random.h"
#include "Core/Parameters/Parameters.h"
#include "Core/Registration/Samples/Samples.h"

#include <optional>

namespace tessera {

/// Chooses where a level's cost looks: voxels or points of the fixed image, inside its mask.
template <int D>
class ImageSampler {
public:
  static constexpr const char* roleName = "ImageSampler";
  virtual ~ImageSampler() = default;

  /// The voxels that the next prepareForLevel may take; all of the image if it was never called.
  void setRegion(const VoxelBox<D>& region) { region_ = region; }
  /// `mask` is null for none. Throws Error(unreadableInput) if the mask is empty. On the context of a
  /// MemoryCount image and mask may come without voxels, and samples() then has at least as many positions as
  /// they would have.
  virtual void prepareForLevel(Context&, const ImagePointer<D>& fixed, const MaskPointer<D>& mask,
                               std::size_t level) = 0;
  /// Gives back the memory of a CUDA device that the level has taken; the samples are gone.
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
