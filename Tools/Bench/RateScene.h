#pragma once

#include "Core/Registration/Fields/FieldMethods.h"
#include "Core/Registration/Resampler.h"
#include "Core/Registry/Registry.h"

#include <functional>
#include <memory>
#include <string>

namespace tessera {

/// The shortest of three times after one that does not count, on the host's clock: what else a machine does
/// only adds.
double shortestMilliseconds(const std::function<void()>& work);

/// An image that is resampled onto its own grid, as tessera-transform does it: into fresh memory.
template <int D>
class RateScene {
public:
  static constexpr std::size_t landmarkCount = 16;

  RateScene(const Registry&, const Context&, const Size<D>&);

  double voxels() const { return static_cast<double>(image_->voxels.size()); }
  const ImageGeometry<D>& grid() const { return image_->geometry; }
  const Registry& registry() const { return registry_; }

  /// benchChain, or, for "landmarks", a thin-plate spline.
  std::shared_ptr<const TransformChain<D>> chain(const std::string& word) const;

  // Milliseconds; `interpolator` is nearest, linear, cubic or majority.

  /// Of T(x) alone where the CPU goes by points.
  double mapping(Context&, const std::string& word) const;
  /// Of kernels by the device's clock.
  double kernels(Context&, const std::string& word, const std::string& interpolator) const;
  /// From the host to the host without preparing the interpolator.
  double resampling(Context&, const std::string& word, const std::string& interpolator) const;
  double preparing(Context&, const std::string& interpolator) const;
  double whole(Context&, const std::string& word, const std::string& interpolator) const;
  /// Once more of it.
  void runWhole(Context&, const std::string& word, const std::string& interpolator) const;
  /// Of the prefilter of order 3 by the device's clock.
  double prefilterKernels(Context&) const;
  /// A field of so many components a voxel: D displacements, 1 determinant, D * D of matrices.
  double field(Context&, std::size_t components) const;

private:
  std::unique_ptr<Interpolator<D>> interpolator(const std::string& name) const;
  void prepare(Context&, Interpolator<D>&) const;
  void resample(Context&, const TransformChain<D>&, const Interpolator<D>& prepared) const;

  const Registry& registry_;
  ImagePointer<D> image_;
  std::unique_ptr<Resampler<D>> resampler_;
};

}
