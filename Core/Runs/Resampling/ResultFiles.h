#pragma once

#include "Core/Image/Files/OutputDigests.h"
#include "Core/Registration/Resampler.h"
#include "Core/Runs/Resampling/ResultSink.h"

namespace tessera {

/// Writes each image of a batch as a file: in `folder`, with the format of the settings. A file that is not
/// complete never has its final name.
template <int D>
class ResultFiles final : public ResultSink<D> {
public:
  const ResultImageSettings settings;

  /// `digests`, if not null, follows the files while they are written.
  ResultFiles(std::string folder, const ResultImageSettings& ofFiles, OutputDigests* digests = nullptr)
      : settings(ofFiles), folder_(std::move(folder)), digests_(digests)
  {
  }

  /// A series is written when its last volume is complete.
  bool takesSlabs(const ImageTask&, const ImageGeometry<D>&, int components) const override;
  std::unique_ptr<ResultStream> open(const ImageTask&, ResultImage<D>, int threads) override;
  std::string nameOf(const ImageTask& task) const override { return pathOf(task.outputStem); }
  std::string pathOf(const std::string& stem) const { return folder_ + stem + "." + settings.format; }

private:
  std::string folder_;
  OutputDigests* digests_;
};

}
