#include "Tools/Register/RunSummary.h"

#include "Core/Compute/Files/AtomicFile.h"
#include "Tools/Common/CommandLine.h"

#include <nlohmann/json.hpp>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

Json json(const std::vector<ImageHeader>& headers)
{
  Json list = Json::array();
  for (const ImageHeader& header : headers)
    list.push_back({{"path", header.path},
                    {"size", header.size},
                    {"spacingMm", header.spacingMm},
                    {"originMm", header.originMm},
                    {"pixelType", pixelTypeName(header.componentType)}});
  return list;
}

Json json(const FileEntry& entry)
{
  if (entry.texts.empty())
    return entry.numbers.size() == 1 ? Json(entry.numbers.front()) : Json(entry.numbers);
  return entry.texts.size() == 1 ? Json(entry.texts.front()) : Json(entry.texts);
}

Json json(const std::vector<TimeRow>& rows, double totalMs)
{
  Json time = Json::object();
  for (const TimeRow& row : rows)
    time[row.part] = {{"ms", row.milliseconds},
                      {"share", totalMs > 0 ? row.milliseconds / totalMs : 0},
                      {"device", row.device}};
  return time;
}

Json json(const LevelSummary& level)
{
  Json settings = Json::object();
  for (const FileEntry& entry : level.settings)
    settings[entry.name] = json(entry);
  Json phases = Json::array();
  for (const std::vector<Phase>& term : level.phases) {
    Json ofTerm = Json::object();
    for (const Phase& phase : term)
      ofTerm[phase.name] = phase.milliseconds;
    phases.push_back(ofTerm);
  }
  Json summary{{"level", level.level},
               {"iterations", level.iterations},
               {"evaluations", level.evaluations},
               {"evaluationsWithGradient", level.evaluationsWithGradient},
               {"metric", level.value},
               {"seconds", level.seconds},
               {"preparationSeconds", level.preparationSeconds},
               {"time", json(level.time, 1000 * level.seconds)},
               {"stopCondition", level.stopCondition},
               {"settings", settings}};
  if (!phases.empty())
    summary["millisecondsOfAnEvaluation"] = phases;
  if (level.deviceBytesTaken > 0)
    summary["deviceMemory"] = {{"plannedBytes", level.deviceBytesPlanned},
                               {"takenBytes", level.deviceBytesTaken},
                               {"slabs", level.slabs}};
  return summary;
}

Json json(const VolumeChange& change)
{
  return {{"least", change.least},     {"percentile1", change.percentile1},
          {"median", change.median},   {"percentile99", change.percentile99},
          {"largest", change.largest}, {"foldedVoxels", change.folded},
          {"voxels", change.voxels},   {"voxelStep", change.voxelStep}};
}

Json json(const StageSummary& stage)
{
  Json levels = Json::array();
  for (const LevelSummary& level : stage.levels)
    levels.push_back(json(level));
  Json summary{{"parameterFile", stage.parameterFile},
               {"device", stage.device},
               {"deviceReason", stage.deviceReason},
               {"transform", stage.transform},
               {"metrics", stage.metrics},
               {"optimizer", stage.optimizer},
               {"levels", levels},
               {"finalMetric", stage.finalMetric},
               {"seconds", stage.seconds},
               {"writingSeconds", stage.writingSeconds},
               {"files", stage.files}};
  if (stage.volumeChange)
    summary["spatialJacobianDeterminant"] = json(*stage.volumeChange);
  return summary;
}

}

void writeSummary(const std::string& path, const RunSummary& run)
{
  Json stages = Json::array(), files = Json::array();
  for (const StageSummary& stage : run.stages) {
    stages.push_back(json(stage));
    for (const std::string& file : stage.files)
      files.push_back(file);
  }
  files.push_back(run.log);
  const Failure& failure = run.failure;
  const Json summary{{"program", "tessera"},
                     {"version", projectVersion()},
                     {"status", failure.code == 0    ? "done"
                                : failure.code > 128 ? "interrupted"
                                                     : "failed"},
                     {"exitCode", failure.code},
                     {"message", failure.message},
                     {"input", run.failedInput.empty() ? Json() : Json(run.failedInput)},
                     {"command", run.command},
                     {"started", run.started},
                     {"finished", run.finished},
                     {"seconds", run.seconds},
                     {"readingSeconds", run.readingSeconds},
                     {"device", run.device},
                     {"deviceReason", run.deviceReason},
                     {"threads", run.threads},
                     {"inputs",
                      {{"fixed", json(run.inputs.fixed)},
                       {"moving", json(run.inputs.moving)},
                       {"fixedMasks", json(run.inputs.fixedMasks)},
                       {"movingMasks", json(run.inputs.movingMasks)},
                       {"fixedPoints", run.fixedPoints},
                       {"movingPoints", run.movingPoints},
                       {"initialTransform", run.initialTransform}}},
                     {"stages", stages},
                     {"finalMetric", run.stages.empty() ? Json() : Json(run.stages.back().finalMetric)},
                     {"outputFiles", files},
                     {"warnings", run.warnings}};
  writeTextFile(path, summary.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

}
