#include "Core/Compute/Error.h"
#include "Core/Image/FileChecks/FileCheck.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Runs/HeaderNotes.h"
#include "Core/Runs/Inputs.h"
#include "Core/Runs/OutputNames.h"
#include "Core/Runs/StageSettings.h"

#include <algorithm>
#include <array>
#include <filesystem>

namespace tessera {
namespace {

template <class Source>
std::vector<ImageHeader> headersOf(const std::string& option, const std::vector<Source>& all,
                                   const ReadingOptions& reading, Log& log)
{
  std::vector<ImageHeader> headers;
  for (const Source& given : all)
    headers.push_back(readHeaderAndTell(option, given, reading, log));
  return headers;
}

void checkDimension(const std::string& option, const std::vector<ImageHeader>& headers,
                    const ImageHeader& first)
{
  for (const ImageHeader& header : headers)
    if (header.dimension != first.dimension)
      throw Error(
          ExitCode::usage,
          option + ": " + header.path + ": an image of dimension " + std::to_string(header.dimension)
              + ", but -f " + first.path + " has dimension " + std::to_string(first.dimension)
              + ". Allowed: images and masks of one dimension"
              + (header.dimension < first.dimension && first.size.back() > 1
                     ? ", those of a series with all of its times."
                     : "; with (FixedImageDimension 2) in the parameter file volumes of one slice are "
                       "images in 2D.")
              + (header.dimension > 3 ? std::string(" ") + oneOfSeries : ""));
}

/// Programs of others make requests, too.
void requireImages(const RunRequest& request)
{
  const auto isThere = [](const GivenImage& image) {
    const auto hasVoxels = []<class Content>(const Content& content) {
      if constexpr (std::is_same_v<Content, std::monostate>)
        return true; // of a file
      else
        return content.image != nullptr;
    };
    return image.isGiven() && std::visit(hasVoxels, image.inMemory);
  };
  if (request.fixed.empty() || request.moving.empty() || !std::ranges::all_of(request.fixed, isThere)
      || !std::ranges::all_of(request.moving, isThere))
    throw Error(ExitCode::usage,
                "a request without a fixed or a moving image. Allowed: at least one of each.");
}

/// Warns if one of two images is so large that it may be in another unit.
void warnOfExtents(const ImageHeader& fixed, const ImageHeader& moving, Log& log)
{
  constexpr double most = 50;
  const auto extentMm = [](const ImageHeader& header) {
    double largest = 0;
    for (std::size_t axis = 0; axis < header.size.size(); ++axis)
      largest = std::max(largest, header.spacingMm[axis] * static_cast<double>(header.size[axis]));
    return largest;
  };
  if (const double ratio = extentMm(moving) / extentMm(fixed); ratio > most || ratio < 1 / most)
    log.warning("-m: " + moving.path + ": its extent of " + shortText(extentMm(moving)) + " mm is "
                + shortText(ratio) + " times that of " + fixed.path
                + "; one of them may be in another unit, such as micrometres.");
}

}

InputHeaders readHeaders(const RunRequest& request, Log& log)
{
  return readHeaders(
      request, inputFilesOf(request.outputFolder.empty() ? std::vector<RunInput>{} : runInputsOf(request)),
      log);
}

InputHeaders readHeaders(const RunRequest& request, InputFiles files, Log& log)
{
  requireImages(request);
  bool isIn2D = false, isIn4D = false, tellsDimension = false;
  for (const StageText& stage : request.stages) {
    if (stage.failure)
      std::rethrow_exception(stage.failure);
    for (const std::string& warning : stage.warnings)
      log.warning(warning);
    const int dimension = dimensionIn(*stage.map);
    isIn2D = isIn2D || dimension == 2;
    isIn4D = isIn4D || dimension == 4;
    tellsDimension = tellsDimension || stage.map->find("FixedImageDimension");
  }
  InputHeaders headers{headersOf("-f", request.fixed, request.reading, log),
                       headersOf("-m", request.moving, request.reading, log),
                       headersOf("-fMask", request.fixedMasks, request.reading, log),
                       headersOf("-mMask", request.movingMasks, request.reading, log),
                       {},
                       std::move(files)};
  if (request.fixedLabels.isGiven()) {
    headers.labels.push_back(readHeaderAndTell("--fLabels", request.fixedLabels, request.reading, log));
    if (request.movingLabels.isGiven())
      headers.labels.push_back(readHeaderAndTell("--mLabels", request.movingLabels, request.reading, log));
  }
  const std::array lists{&headers.fixed, &headers.moving, &headers.fixedMasks, &headers.movingMasks,
                         &headers.labels};
  for (const std::vector<ImageHeader>* list : lists)
    isIn2D = isIn2D || std::ranges::any_of(*list, [](const ImageHeader& h) { return h.dimension == 2; });
  for (std::vector<ImageHeader>* list : lists)
    for (ImageHeader& header : *list)
      if (isIn2D && header.dimension == 3) {
        header = asPlane(std::move(header));
        if (header.dimension == 2)
          log.note(header.notes.back());
      }
  const ImageHeader& first = headers.fixed.front();
  if (isIn4D && first.dimension == 3 && request.fixed.front().isFile()
      && std::filesystem::is_regular_file(first.path) && hasOneTime(FileHead(first.path)))
    failAs(ExitCode::usage, "-f",
           first.path + ": four axes, but one time only, which has no other to be registered to",
           "a series of two times or more; or, for two volumes, the files or presets of pairs");
  if (first.dimension == 4 && isIn4D && request.inverseToo)
    failAs(ExitCode::usage, "--inverse-too",
           "the images are of dimension 4, and such inverses are not written",
           "tessera-transform --inverse with the result");
  const std::string ofDimension =
      "-f: " + first.path + ": an image of dimension " + std::to_string(first.dimension);
  if (first.dimension == 2 && isIn4D && !tellsDimension) // else its line is named later
    throw Error(ExitCode::usage,
                ofDimension
                    + ", where the parameter file is for a series. Allowed: a series in one file, of "
                      "three axes or four, the last of which is time.");
  if (first.dimension != 2 && first.dimension != 3 && !(first.dimension == 4 && isIn4D))
    throw Error(
        ExitCode::usage,
        ofDimension
            + (first.dimension == 4
                   ? ", and the parameter file is for 2D or 3D. Allowed: 2D and 3D images; for a whole "
                     "series (FixedImageDimension 4) in the parameter file, or the presets cine, dce "
                     "and diffusion. "
                   : ". Allowed: 2D and 3D images. ")
            + oneOfSeries);
  checkDimension("-f", headers.fixed, first);
  checkDimension("-m", headers.moving, first);
  for (std::size_t i = 0; i < std::min(headers.fixed.size(), headers.moving.size()); ++i)
    warnOfExtents(headers.fixed[i], headers.moving[i], log);
  checkDimension("-fMask", headers.fixedMasks, first);
  checkDimension("-mMask", headers.movingMasks, first);
  checkDimension("--fLabels and --mLabels", headers.labels, first);
  return headers;
}

}
