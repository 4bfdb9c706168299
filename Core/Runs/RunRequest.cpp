#include "Core/Runs/RunRequest.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <stdexcept>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

template <class Source>
Json pathOf(const Source& given)
{
  if (given.isGiven() && !given.isFile())
    throw std::logic_error(given.path + ": what is in memory has no JSON");
  return given.path;
}

template <class Source>
Json pathsOf(const std::vector<Source>& given)
{
  Json paths = Json::array();
  for (const Source& one : given)
    paths.push_back(pathOf(one));
  return paths;
}

/// Calls visit(name, member) for each member that JSON holds as it is.
template <class Request, class Visit>
void forEachSetting(Request& request, Visit&& visit)
{
  visit("outputFolder", request.outputFolder);
  visit("device", request.device);
  visit("threads", request.threads);
  visit("threadSource", request.threadSource);
  visit("strict", request.strict);
  visit("inverseToo", request.inverseToo);
  visit("pictures", request.pictures);
  visit("refusesConstantImages", request.refusesConstantImages);
  visit("resultsAreShort", request.resultsAreShort);
  visit("measuresResult", request.measuresResult);
  visit("cudaStartIsPaid", request.cudaStartIsPaid);
  visit("seriesReference", request.seriesReference);
  visit("dicomSeries", request.reading.dicomSeries);
  visit("allowMissingSlices", request.reading.allowMissingSlices);
  visit("pixelSpacingMm", request.reading.pixelSpacingMm);
}

/// Calls visit(name, member) for each list and each one of inputs.
template <class Request, class Visit>
void forEachInput(Request& request, Visit&& visit)
{
  visit("fixed", request.fixed);
  visit("moving", request.moving);
  visit("fixedMasks", request.fixedMasks);
  visit("movingMasks", request.movingMasks);
  visit("fixedLabels", request.fixedLabels);
  visit("movingLabels", request.movingLabels);
  visit("warped", request.warped);
  visit("warpedLabels", request.warpedLabels);
  visit("fixedPoints", request.fixedPoints);
  visit("movingPoints", request.movingPoints);
  visit("pointWeights", request.pointWeights);
  visit("initialTransform", request.initialTransform);
  visit("startAt", request.startAt);
}

/// A path that transform parameter files will have to name. elastix reads a tab in a name as a blank.
void checkNameable(const std::string& option, const std::string& path)
{
  if (path.find_first_of("\"\t\n\r") != std::string::npos)
    failAs(ExitCode::usage, "command line",
           option + ": " + path + ": no transform parameter file can hold a quote, a tab or a line break",
           "another name");
}

void checkMaskCount(const std::string& option, std::size_t masks, std::size_t images)
{
  if (masks > 1 && masks != images)
    failAs(ExitCode::usage, "command line",
           "-" + option + ": " + std::to_string(masks) + " masks for " + std::to_string(images) + " images",
           "none, one (for the first image), or one for each image");
}

}

void checkRequest(const RunRequest& request)
{
  if (request.stages.empty())
    throw Error(ExitCode::usage, "a request without a stage. Allowed: at least one.");
  const bool isCarried = request.inverseToo && !request.movingLabels.isGiven();
  if (request.fixedLabels.isGiven() != request.movingLabels.isGiven() && !isCarried)
    failAs(ExitCode::usage, "command line",
           "--fLabels and --mLabels: only one of them is given, and they are compared",
           "both, or none; --fLabels alone with --inverse-too");
  checkMaskCount("fMask", request.fixedMasks.size(), request.fixed.size());
  checkMaskCount("mMask", request.movingMasks.size(), request.moving.size());
  checkNameable("-t0", request.initialTransform.path);
  if (request.stages.size() > 1)
    checkNameable("-out", request.outputFolder);
  if (!request.fixedPoints.isGiven() && request.movingPoints.isGiven())
    failAs(ExitCode::usage, "command line", "-mp without -fp: points come in pairs", "both, or none");
  if (request.pointWeights.isGiven() && !(request.fixedPoints.isGiven() && request.movingPoints.isGiven()))
    failAs(ExitCode::usage, "command line", "--point-weights without pairs of points", "with -fp and -mp");
}

StageText readStageText(const std::string& path)
{
  StageText stage{path, "", nullptr};
  std::error_code ignored;
  stage.isRegularFile = std::filesystem::is_regular_file(path, ignored);
  try {
    stage.map = std::make_shared<ParameterMap>(readParameterFile(path, stage.warnings, &stage.text));
  } catch (...) {
    stage.failure = std::current_exception();
  }
  return stage;
}

std::vector<StageText> readStageTexts(const std::vector<std::string>& paths)
{
  std::vector<StageText> stages;
  for (const std::string& path : paths)
    stages.push_back(readStageText(path));
  return stages;
}

StageText stageTextOf(const std::string& name, const std::string& text)
{
  StageText stage{name, text, nullptr};
  stage.map = std::make_shared<ParameterMap>(parseParameterText(text, name, stage.warnings));
  stage.isRegularFile = false;
  return stage;
}

Json json(const RunRequest& request)
{
  Json object;
  forEachInput(request, [&](const char* name, const auto& input) {
    if constexpr (requires { input.path; })
      object[name] = pathOf(input);
    else
      object[name] = pathsOf(input);
  });
  forEachSetting(request, [&](const char* name, const auto& value) { object[name] = value; });
  if (std::isfinite(request.maxDeviceMemory))
    object["maxDeviceMemory"] = request.maxDeviceMemory;
  object["stages"] = Json::array();
  for (const StageText& stage : request.stages) {
    if (stage.map && !stage.isRegularFile)
      throw std::logic_error(stage.path + ": parameters in memory or of a pipe have no JSON");
    object["stages"].push_back(stage.path);
  }
  return object;
}

RunRequest requestOf(const Json& object)
{
  RunRequest request;
  forEachInput(request, [&](const char* name, auto& input) {
    if constexpr (requires { input.path; })
      input.path = object.at(name);
    else
      for (const std::string path : object.at(name))
        input.push_back({path});
  });
  forEachSetting(request, [&](const char* name, auto& value) { object.at(name).get_to(value); });
  request.maxDeviceMemory = object.value("maxDeviceMemory", request.maxDeviceMemory);
  request.stages = readStageTexts(object.at("stages").get<std::vector<std::string>>());
  return request;
}

}
