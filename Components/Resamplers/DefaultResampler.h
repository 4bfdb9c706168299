#pragma once

#include "Core/Registration/Extrapolation.h"
#include "Core/Registration/Resampler.h"

namespace tessera {

/// The moving image at T(x) where T(x) lies inside it, DefaultPixelValue elsewhere unless the image is extrapolated.
template <int D>
class DefaultResampler final : public Resampler<D> {
public:
  explicit DefaultResampler(const Parameters&);
  static const ComponentDescription& description();

  using Resampler<D>::resample;
  std::vector<Image<D>> resample(Context&, const TransformChain<D>&, std::span<const ResampleSource<D>>,
                                 const ImageGeometry<D>& output, const LayerRange&) const override;

  const ResultImageSettings& resultImage() const override { return resultImage_; }
  bool writesFinalResult() const override { return writesFinalResult_; }
  bool writesResultAfterLevel(std::size_t level) const override;
  bool writesResultAfterIterations(std::size_t level) const override;
  std::vector<FileEntry> fileEntries() const override;

private:
  Parameters parameters_;
  double defaultPixelValue_;
  Extrapolation extrapolation_;
  bool writesFinalResult_;
  ResultImageSettings resultImage_;
};

}
