#pragma once

#include "Core/Compute/Math/Random.h"
#include "Core/Parameters/Parameters.h"
#include "Core/Registration/Samples/Samples.h"

#include <optional>
#include <vector>

namespace tessera {

/// A fixed image of a level, with the voxels that samples may be taken from and its mask (null: none).
template <int D>
struct SampledImage {
  ImagePointer<D> image;
  VoxelBox<D> region;
  MaskPointer<D> mask;

  bool isSame(const SampledImage& other) const { return image == other.image && mask == other.mask; }
};

/// Chooses the voxels or points of the fixed image, inside its mask, at which a level's cost is computed.
template <int D>
class ImageSampler {
public:
  static constexpr const char* roleName = "ImageSampler";
  virtual ~ImageSampler() = default;

  /// The voxels that samples may be taken from after the next prepareForLevel. Without a call, all voxels of
  /// the image.
  void setRegion(const VoxelBox<D>& region) { region_ = region; }
  /// The fixed images of the level's other metrics, for the next prepareForLevel. Most samplers take no
  /// notice of them.
  virtual void setOtherImages(std::vector<SampledImage<D>>) {}
  /// `mask` is null if there is none. Throws Error(unreadableInput) if the mask is empty. On the context of a
  /// MemoryCount, image and mask may come without voxels; samples() then has at least as many positions as
  /// with them.
  virtual void prepareForLevel(Context&, const ImagePointer<D>& fixed, const MaskPointer<D>& mask,
                               std::size_t level) = 0;
  /// Releases the memory of a CUDA device that the level has taken. The samples are lost.
  virtual void endLevel() {}
  /// Draws new samples. The samplers Full and Grid give the same ones each time.
  virtual void draw(Context&, const Draw&) = 0;
  /// Switches UseRandomSampleRegion off while step sizes are estimated. Returns whether it was on; false if
  /// the sampler has no such parameter, or keeps its region.
  virtual bool setRandomRegion(bool /*on*/) { return false; }
  /// True if draws differ from each other.
  virtual bool isRandom() const = 0;
  /// True if the samples are a VoxelLattice.
  virtual bool givesLattice() const { return false; }
  /// True if exact metric values are computed on these samples, as elastix does with the Grid sampler.
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
