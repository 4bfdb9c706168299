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
  double mapping(Context& context, const std::string& word) const
  {
    const auto transforms = chain(word);
    return shortestMilliseconds([&] { resampler_->resampleInto(context, *transforms, {}, grid(), {}, {}); });
  }
  /// The kernels of resampling, by the device's clock.
  double kernels(Context&, const std::string& word, const std::string& interpolator) const;
  /// Resampling from host memory to host memory, without preparing the interpolator.
  double resampling(Context&, const std::string& word, const std::string& interpolator) const;
  double preparing(Context& context, const std::string& name) const
  {
    return shortestMilliseconds([&] { prepare(context, *interpolator(name)); });
  }
  double whole(Context&, const std::string& word, const std::string& interpolator) const;
  /// Runs the work of whole() once.
  void runWhole(Context& context, const std::string& word, const std::string& name) const
  {
    const auto prepared = interpolator(name);
    prepared->prepareForLevel(context, image_, 0);
    resample(context, *chain(word), *prepared);
  }
  /// The kernels of the prefilter of order 3, by the device's clock.
  double prefilterKernels(Context&) const;
  /// A field of so many components for each voxel: D for displacements, 1 for determinants, D * D for
  /// matrices.
  double field(Context&, std::size_t components) const;

private:
  std::unique_ptr<Interpolator<D>> interpolator(const std::string& name) const;
  void prepare(Context& context, Interpolator<D>& interpolator) const
  {
    interpolator.prepareForLevel(context, image_, 0);
    if (context.onCuda())
      context.stream->wait();
  }
  void resample(Context& context, const TransformChain<D>& transforms, const Interpolator<D>& prepared) const
  {
    const ResampleSource<D> source{&prepared, nullptr, {}};
    const PixelType type = PixelType::float32;
    resampler_->resamplePixels(context, transforms, std::span(&source, 1), grid(), std::span(&type, 1));
  }

  const Registry& registry_;
  ImagePointer<D> image_;
  std::unique_ptr<Resampler<D>> resampler_;
};

}
