#pragma once

#include "Components/Interpolators/Shared/InterpolatorUse.h"
#include "Core/Registration/Interpolator.h"

namespace tessera {

/// Cubics through the four nearest voxels along each axis, whose slope at a voxel is the central difference
/// (Keys, "Cubic convolution interpolation for digital image processing", 1981, with a = -1/2). Beyond the
/// border its voxels are repeated. It has no CUDA form.
template <int D>
class CatmullRomInterpolator final : public Interpolator<D> {
public:
  explicit CatmullRomInterpolator(const Parameters&, InterpolatorUse = InterpolatorUse::matching) {}

  void prepareForLevel(Context&, const ImagePointer<D>& image, std::size_t) override { image_ = image; }
  const ImageGeometry<D>& imageGeometry() const override { return image_->geometry; }
  void evaluate(Context&, const ListSamples<D>&, float* values, float* const* gradients,
                std::uint8_t* inside) const override;
  void endLevel() override {}
  bool hasGradient() const override { return true; }

  static const ComponentDescription& description(InterpolatorUse = InterpolatorUse::matching);

private:
  ImagePointer<D> image_;
};

}
