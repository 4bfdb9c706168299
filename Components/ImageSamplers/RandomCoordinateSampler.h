#pragma once

#include "Components/ImageSamplers/Shared/DrawsOnCuda.h"
#include "Core/Registration/ImageSampler.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// Points between the voxels of the fixed image, uniformly distributed in the box of the voxel centres that
/// the mask's bounding box leaves. They are drawn again until they lie in the mask. (UseRandomSampleRegion
/// "true") takes them from a small box that moves with every draw.
template <int D>
class RandomCoordinateSampler : public ImageSampler<D> {
public:
  explicit RandomCoordinateSampler(const Parameters&);

  static const ComponentDescription& description();

  void prepareForLevel(Context&, const ImagePointer<D>& fixed, const MaskPointer<D>& mask,
                       std::size_t level) override;
  void endLevel() override
  {
    this->samples_ = PointList<D>{};
    onCuda_.reset();
    coefficientsOnCuda_ = {};
  }
  void draw(Context&, const Draw&) override;
  bool setRandomRegion(bool on) override
  {
    const bool was = regionIsOn_;
    regionIsOn_ = on && regionSizeInVoxels_.has_value();
    return was;
  }
  bool isRandom() const override { return true; }

protected:
  RandomCoordinateSampler(const Parameters&, std::string name);

  /// Points are taken from these images, too. If there are any, points are drawn on the CPU.
  std::vector<SampledImage<D>> others_;

private:
  IndexBox<D> regionOf(const Draw&) const;
  void keepInside(const SampledImage<D>&);
  void prepareOnCuda(Context&, std::size_t samples);
  Vec<D> regionSizeMm(std::size_t level, const ImageGeometry<D>&) const;
  using Indices = std::array<Vec<D>, samplesAChunk>;
  /// Fixed intensities of the samples [first, last).
  void lookUp(const Indices&, std::size_t first, std::size_t last);

  Parameters parameters_;
  std::string name_;
  ImagePointer<D> fixed_;
  MaskPointer<D> mask_;
  IndexBox<D> box_;
  std::optional<Vec<D>> regionSizeInVoxels_; // without a value, no random region at this level
  bool regionIsOn_ = false;
  int order_ = 1;
  std::vector<float> coefficients_;      // used by orders above 1
  std::optional<DrawsOnCuda<D>> onCuda_; // if the level was prepared on a CUDA device
  Buffer<float> coefficientsOnCuda_;
  InterpolatorOnCuda<D> fixedOnCuda_;
};

}
