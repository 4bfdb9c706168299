#pragma once

#include "Components/Resamplers/Shared/InputSlices.h"
#include "Components/Resamplers/Shared/ResamplingOnCuda.h"
#include "Core/Registration/Interpolation/Extrapolation.h"
#include "Core/Registration/Resampler.h"

#include <optional>

namespace tessera {

/// The moving image at T(x) where T(x) lies inside it, DefaultPixelValue elsewhere unless the image is
/// extrapolated.
template <int D>
class DefaultResampler final : public Resampler<D> {
public:
  explicit DefaultResampler(const Parameters&);
  static const ComponentDescription& description();

  void resampleInto(Context&, const TransformChain<D>&, std::span<const ResampleSource<D>>,
                    const ImageGeometry<D>& output, const SliceRange&,
                    std::span<const PixelsOut> results) const override;
  /// On the CPU "transform", the time to map all points, which is 0 if rows are interpolated without points,
  /// and "interpolation", the rest. On CUDA "kernels" and "copies to the host".
  SlicesThatFit slicesThatFit(const TransformChain<D>&, const ResampleSource<D>&,
                              const ImageGeometry<D>& output, PixelType, double deviceBytes) const override;
  SlicesAskedFor slicesAskedFor(const TransformChain<D>&, const Interpolator<D>&,
                                const ImageGeometry<D>& moving,
                                const ImageGeometry<D>& output) const override;

  double outsideValue() const override { return defaultPixelValue_; }
  void warnOfPixelType() const override;
  const ResultImageSettings& resultImage() const override { return resultImage_; }
  bool writesFinalResult() const override { return writesFinalResult_; }
  bool writesResultAfterLevel(std::size_t level) const override;
  bool writesResultAfterIterations(std::size_t level) const override;
  std::vector<FileEntry> fileEntries() const override;

private:
  std::optional<InputSlices<D>> inputSlices(const TransformChain<D>&, bool readsVoxels,
                                            const ImageGeometry<D>& moving, const ImageGeometry<D>& output,
                                            std::string& whyNot) const;
  std::vector<MovingToResample<D>> onCuda(const Context&, std::span<const ResampleSource<D>>) const;

  Parameters parameters_;
  double defaultPixelValue_;
  Extrapolation extrapolation_;
  bool writesFinalResult_;
  ResultImageSettings resultImage_;
};

}
