#pragma once

#include "Core/Registration/Fields/FieldMethods.h"
#include "Core/Registration/Resampler.h"
#include "Core/Registry/Registry.h"

#include <functional>
#include <memory>
#include <string>

namespace tessera {

/// The shortest of three times by the host's clock, after one run that does not count. The shortest is taken
/// because other work on the machine only adds to the time.
double shortestMilliseconds(const std::function<void()>& work);

/// An image that is resampled onto its own grid into fresh memory, as tessera-transform does it.
template <int D>
class RateScene {
public:
  static constexpr std::size_t landmarkCount = 16;

  RateScene(const Registry&, const Context&, const Size<D>&);

  double voxels() const { return static_cast<double>(image_->voxels.size()); }
  const ImageGeometry<D>& grid() const { return image_->geometry; }
  const Registry& registry() const { return registry_; }

  /// The result of benchChain, or for "landmarks" a thin-plate spline.
  std::shared_ptr<const TransformChain<D>> chain(const std::string& word) const;

  // The following functions return milliseconds; `interpolator` is nearest, linear, cubic or majority.

  /// Computes T(x) alone, at points, on the CPU.
  double mapping(Context&, const std::string& word) const;
  /// The kernels of resampling, by the device's clock.
  double kernels(Context&, const std::string& word, const std::string& interpolator) const;
  /// Resampling from host memory to host memory, without preparing the interpolator.
  double resampling(Context&, const std::string& word, const std::string& interpolator) const;
  double preparing(Context&, const std::string& interpolator) const;
  double whole(Context&, const std::string& word, const std::string& interpolator) const;
  /// Runs the work of whole() once.
  void runWhole(Context&, const std::string& word, const std::string& interpolator) const;
  /// The kernels of the prefilter of order 3, by the device's clock.
  double prefilterKernels(Context&) const;
  /// A field of so many components for each voxel: D for displacements, 1 for determinants, D * D for
  /// matrices.
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
