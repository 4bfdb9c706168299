#include "Tools/Register/PageOfResult.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/Math/WithConstant.h"
#include "Core/Compute/NumberIn.h"
#include "Core/Image/FileChecks/HeaderText.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Core/Runs/OutputNames.h"
#include "Core/Runs/RunJudgement.h"
#include "Core/Runs/RunRecord.h"
#include "Tools/Common/CommandLine.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/RunFolder.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <map>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

/// The record as it was written. Throws Error(unreadableInput).
Json recordIn(const std::string& folder)
{
  const Json record = Json::parse(readTextFile(folder + runName).text, nullptr, false);
  if (!record.is_object() || !record.contains("inputFiles"))
    failToRead("--report-of: " + folder + runName, "no record of a run",
               "the folder of a run with its run.json");
  return record;
}

/// What the page shows of the files that the run read, which must still be those of the record.
RunRequest requestOfRecord(const Json& record)
{
  std::map<std::string, Json> files;
  for (const Json& file : record.at("inputFiles"))
    files[file.at("role")] = file;
  const auto path = [&](const char* role) { return textAt(files[role], "/path"); };
  RunRequest request;
  request.fixed = {{path("f0")}};
  request.moving = {{path("m0")}};
  for (const auto& [role, masks] :
       {std::pair{"fMask0", &request.fixedMasks}, {"mMask0", &request.movingMasks}})
    if (!path(role).empty())
      *masks = {{path(role)}};
  request.fixedLabels.path = path("fLabels");
  request.movingLabels.path = path("mLabels");
  request.fixedPoints.path = path("fp");
  request.movingPoints.path = path("mp");
  request.initialTransform.path = path("t0");
  const std::string command = textAt(record, "/command");
  request.reading.allowMissingSlices = command.find("--allow-missing-slices") != std::string::npos;
  if (const std::string option = "-pixel-spacing"; command.find(option) != std::string::npos) {
    const auto words = wordsOf(command.substr(command.find(option) + option.size() + 1)); // of a blank or "="
    request.reading.pixelSpacingMm =
        readingOptionsOf(Arguments({{"pixel-spacing", {words.at(0)}}})).pixelSpacingMm;
  }
  for (const RunInput& input : runInputsOf(request))
    if (digestOf(input).sha256 != textAt(files[input.role], "/sha256"))
      failToRead("--report-of: " + input.path, "missing, or other bytes than the run has read",
                 "the files of the run; relative paths begin where it was started");
  return request;
}

/// Both images and, if there is a transform file, the result.
template <int D>
RunPictures picturesOfFiles(const Registry& registry, const RunRequest& request, const InputHeaders& headers,
                            bool usesDirectionCosines, bool isSeries, const std::string& transform, Log& log)
{
  const Context host{Device{}, request.threads};
  const auto chainOf = [&](const std::string& path) {
    return path.empty() ? nullptr : readTransformChain<D>(host, path, registry, [](const std::string&) {});
  };
  const auto given = chainOf(request.initialTransform.path), result = chainOf(transform);
  Inputs<D> inputs(request, headers);
  inputs.load(host, false, log);
  const StageInput<D> input = inputs.ofStage(0, usesDirectionCosines, nullptr);
  JudgedRun<D> run{registry,    request,      input, usesDirectionCosines, inputs.fixedInFile().direction,
                   given.get(), result.get(), host};
  run.isSeries = isSeries;
  return picturesOfRun<D>(run);
}

RunPictures picturesOfFiles(const Registry& registry, const RunRequest& request, bool usesDirectionCosines,
                            bool isSeries, const std::string& transform, Log& log)
{
  const InputHeaders headers = readHeaders(request, log);
  return withConstant<2, 4>(headers.dimension(), [&]<int D>() {
    return picturesOfFiles<D>(registry, request, headers, usesDirectionCosines, isSeries, transform, log);
  });
}

/// The transform of the last stage. Throws Error(unreadableInput) if it is not the one that the run wrote.
std::string resultOf(const Json& record, const std::string& folder)
{
  const std::filesystem::path file = transformFileOf(folder, "--report-of");
  for (const Json& output : record.at("outputs"))
    if (std::filesystem::path(output.at("path").get<std::string>()).filename() == file.filename()
        && textAt(output, "/sha256") != digestOfFile(file.string()))
      failToRead("--report-of: " + file.string(), "not the transform that the run has written",
                 "the files of the run, unchanged");
  return file.string();
}

/// The transform that a run kept which was stopped; empty: none.
std::string keptIn(const std::string& folder, std::size_t stages)
{
  for (std::size_t stage = stages; stage-- > 0;)
    for (const char* ending : {".txt", ".toml"})
      if (const std::string file = folder + "TransformParameters." + std::to_string(stage) + ending;
          std::filesystem::exists(file))
        return file;
  return "";
}

/// The metric at each iteration of a level, from the table that the run wrote; empty: there is none.
std::vector<double> curveIn(const std::string& table)
{
  const std::vector<std::string> lines = linesOf(readTextFile(table).text);
  const std::vector<std::string> names = wordsOf(lines.empty() ? "" : lines.front());
  const auto column = static_cast<std::size_t>(std::ranges::find(names, "2:Metric") - names.begin());
  std::vector<double> values;
  for (const std::string& line : lines)
    if (const std::vector<std::string> cells = wordsOf(line); column < cells.size())
      if (const auto metric = numberIn<double>(cells[column]))
        values.push_back(*metric);
  return values;
}

}

void writePageOfResult(const Registry& registry, const std::string& path, int threads, Log& log)
try {
  const std::string folder = path.ends_with('/') ? path : path + "/";
  const Json record = recordIn(folder);
  RunRequest request = requestOfRecord(record);
  const bool usesDirections =
      recordAt(record, "/stages/0/parameters/UseDirectionCosines/values/0") != "false";
  std::string text = usesDirections ? "" : "(UseDirectionCosines \"false\")\n";
  if (recordAt(record, "/inputs/fixed/0/size").size() == 4)
    text += "(FixedImageDimension 4)";
  request.stages = {stageTextOf("--report-of", text)};
  request.threads = threads;
  const std::string status = textAt(record, "/status");
  const std::string transform = status == "done"          ? resultOf(record, folder)
                                : status == "interrupted" ? keptIn(folder, record.at("stages").size())
                                                          : "";
  std::optional<RunPictures> pictures = // what stopped the run may stop a look at all of its files, too
      status == "failed"
          ? picturesOfEnd(registry, request, transform)
          : picturesOfFiles(registry, request, usesDirections, isOfSeries(record), transform, log);
  if (pictures && status != "done")
    pictures->keptTransform = transform;
  std::vector<StageCurves> curves;
  for (const Json& stage : record.at("stages")) {
    const std::string table = folder + "IterationInfo." + std::to_string(curves.size());
    curves.emplace_back();
    for (std::size_t level = 0; level < stage.at("levels").size(); ++level)
      curves.back().push_back(curveIn(table + levelSuffix(level) + ".txt"));
  }
  if (pictures && !pictures->thumbnail.empty())
    writeTextFile(folder + thumbnailName, pictures->thumbnail, Sync::no);
  writeTextFile(folder + pageName, runPage(record, pictures ? &*pictures : nullptr, curves));
  log.info("Wrote " + folder + pageName + ".");
} catch (const nlohmann::json::exception&) {
  failToRead("--report-of: " + path + "/" + runName, "a damaged record",
             "run.json as the run has written it");
}

std::optional<RunPictures> picturesOfEnd(const Registry& registry, const RunRequest& given,
                                         const std::string& transform)
{
  constexpr std::size_t mostVoxels = std::size_t(1) << 26;
  RunRequest request = given;
  request.fixedLabels = request.movingLabels = {};
  std::string result = transform == given.initialTransform.path ? "" : transform;
  const auto map = given.stages.empty() ? nullptr : given.stages.front().map; // null: it could not be read
  const ParameterEntry* const directions = map ? map->find("UseDirectionCosines") : nullptr;
  const bool usesDirections = !directions || directions->values.front() != "false";
  for (const int attempt : {0, 1, 2, 3}) { // with less and less of what the run was given
    if (attempt == 1)
      result.clear();
    if (attempt >= 2) {
      request.fixed = {given.fixed.front()};
      request.moving = {attempt == 2 ? given.moving.front() : given.fixed.front()};
      request.fixedMasks = request.movingMasks = {};
      request.fixedPoints = request.movingPoints = {};
      request.initialTransform = attempt == 2 ? given.initialTransform : GivenTransform{};
    }
    try {
      for (const GivenImage& image : {request.fixed.front(), request.moving.front()})
        if (readImageHeader(image.path, request.reading).voxelCount() > mostVoxels)
          return {};
      Log silent;
      RunPictures pictures = picturesOfFiles(registry, request, usesDirections, false, result, silent);
      pictures.keptTransform = result;
      if (attempt == 3) {
        pictures.thumbnail.clear();
        for (SlicePicture& slice : pictures.slices)
          slice.before.clear();
      }
      return pictures;
    } catch (const std::exception&) { // the run's own error is reported, not this one
    }
  }
  return {};
}

}
