#pragma once

#include "Core/Registration/Resampler.h"

namespace tessera {

/// The moving image at T(x) where T(x) lies inside it, DefaultPixelValue elsewhere.
template <int D>
class DefaultResampler final : public Resampler<D> {
public:
  explicit DefaultResampler(const Parameters&);
  static const ComponentDescription& description();

  Image<D> resample(Context&, const TransformChain<D>&, const Interpolator<D>& moving, const MaskPointer<D>& validMoving,
                    const ImageGeometry<D>& output) const override;

  const ResultImageSettings& resultImage() const override { return resultImage_; }
  bool writesFinalResult() const override { return writesFinalResult_; }
  bool writesResultAfterLevel(std::size_t level) const override;
  bool writesResultAfterIterations(std::size_t level) const override;
  std::vector<FileEntry> fileEntries() const override;

private:
  Parameters parameters_;
  double defaultPixelValue_;
  bool writesFinalResult_;
  ResultImageSettings resultImage_;
};

}
