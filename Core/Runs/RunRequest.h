#pragma once

#include "Core/Compute/Error.h"
#include "Core/Image/Files/ReadingOptions.h"
#include "Core/Image/ImageInMemory.h"
#include "Core/Image/Points/PointsFile.h"
#include "Core/Parameters/ParameterMap.h"
#include "Core/Registration/Transform.h"

#include <nlohmann/json_fwd.hpp>

#include <exception>
#include <limits>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace tessera {

/// Something that a run reads: a file, or what a file would hold, in memory.
template <template <int> class Content>
struct Given {
  std::string path; // of the file, or what messages call the content in memory; empty: it is not given
  std::variant<std::monostate, Content<2>, Content<3>, Content<4>> inMemory = {};

  bool isGiven() const { return !path.empty(); }
  bool isFile() const { return isGiven() && inMemory.index() == 0; }
  /// Null: it is a file. Throws Error(usage) for content of another dimension.
  template <int D>
  const Content<D>* held() const
  {
    const Content<D>* const content = std::get_if<Content<D>>(&inMemory);
    if (!content && inMemory.index() != 0)
      failAs(ExitCode::usage, path, "it is not of the images' dimension, " + std::to_string(D),
             "images, points and transforms of one dimension");
    return content;
  }
};

/// An image in memory as floats, and the type that its voxels had before, which the result gets.
template <int D>
struct HeldImage : CheckedImage<D> {
  PixelType type = PixelType::float32;

  template <class Pointer>
  requires std::is_convertible_v<Pointer, ImagePointer<D>> HeldImage(Pointer image)
      : CheckedImage<D>{std::move(image)}
  {
  }
  HeldImage(LoadedImage<D>&& loaded, PixelType typeBefore)
      : CheckedImage<D>{std::make_shared<Image<D>>(std::move(loaded.image)), loaded.nanVoxels,
                        std::move(loaded.finiteVoxels)},
        type(typeBefore)
  {
  }

  /// Throws as checkedImage().
  CheckedImage<D> checked(const Context& context, const std::string& name) const
  {
    if (this->nanVoxels > 0)
      return *this;
    return checkedImage<D>(context, name, this->image);
  }
};

using GivenImage = Given<HeldImage>;
using GivenGrid = Given<ImageGeometry>; // of which an image file has one
using GivenMask = Given<MaskPointer>;
using GivenPoints = Given<InputPoints>;
using GivenTransform = Given<ChainPointer>;

template <class Source>
std::vector<Source> filesGiven(const std::vector<std::string>& paths)
{
  std::vector<Source> all;
  for (const std::string& path : paths)
    all.push_back({path});
  return all;
}

/// A file that a run reads as text, or its text in memory.
struct GivenText {
  std::string path, text = {}; // path: as in Given; text: empty for a file

  bool isGiven() const { return !path.empty(); }
  bool isFile() const { return isGiven() && text.empty(); }
};

/// The parameters of a stage as they were read, once.
struct StageText {
  std::string path; // of the file, or what messages call parameters in memory
  std::string text = {};
  std::shared_ptr<const ParameterMap> map = {};
  std::vector<std::string> warnings = {};
  std::exception_ptr failure = {}; // not null: the parameters cannot be read, and there is no map
  bool isRegularFile = true;       // no pipe, which gives its bytes only once
  bool isChecked = false;          // a run has found no parameter that nothing reads, or has told it
};

/// Reads a parameter file. What is wrong with it is kept, so that the run can tell it in its turn.
StageText readStageText(const std::string& path);
std::vector<StageText> readStageTexts(const std::vector<std::string>& paths);

/// Parameters in memory; messages call them `name`. Throws as parseParameterText.
StageText stageTextOf(const std::string& name, const std::string& text);

/// All that a run needs to know.
struct RunRequest {
  std::vector<GivenImage> fixed, moving;
  std::vector<GivenMask> fixedMasks, movingMasks;
  GivenImage fixedLabels, movingLabels; // compared after the run
  std::vector<GivenImage> warped,
      warpedLabels; // of the moving side: the caller brings them to the fixed grid
  GivenPoints fixedPoints, movingPoints;
  GivenText pointWeights;
  GivenTransform initialTransform;
  GivenTransform startAt; // a result of such a run, from whose parameters each stage goes on
  ReadingOptions reading; // of all images
  std::vector<StageText> stages;

  std::string outputFolder; // where the caller writes; the run checks that there is room; empty: nowhere
  std::string device;       // empty: as the parameters say
  int threads = 1;
  std::string threadSource; // who set `threads`; only "-threads" wins over MaximumNumberOfThreads
  double maxDeviceMemory = std::numeric_limits<double>::infinity(); // bytes
  bool strict = false;                // a parameter that nothing reads is an error
  bool inverseToo = false;            // the inverse of the result is wanted, too
  bool pictures = false;              // of slices, for a report
  bool refusesConstantImages = false; // an image without contrast is an error, not a warning
  bool resultsAreShort = false;       // without ResultImagePixelType, as in elastix
  bool measuresResult = true;         // determinants and figures of the result are wanted
  bool cudaStartIsPaid = false;       // by the caller: "auto" takes CUDA wherever it can
  std::string
      seriesReference; // moving is a series, of which a Run takes one volume: SeriesRequest::reference
  std::optional<std::size_t> fromTime = {}; // of the warped images: TransformRequest::fromTime
};

/// Throws Error(usage) for parts that contradict each other, and for paths that no transform file can name.
void checkRequest(const RunRequest&);

/// As a JSON object. Throws std::logic_error if something is given in memory, which has no JSON.
nlohmann::ordered_json json(const RunRequest&);
/// The request of such an object; reads the parameter files.
RunRequest requestOf(const nlohmann::ordered_json&);

}
