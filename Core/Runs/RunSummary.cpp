#include "Core/Runs/RunSummary.h"

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
                    {"direction", header.direction},
                    {"notes", header.notes},
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
  for (const TimeRow& row : rows) {
    Json& one = time[row.part] = {{"ms", row.milliseconds},
                                  {"share", totalMs > 0 ? row.milliseconds / totalMs : 0},
                                  {"device", row.device}};
    if (row.launches > 0)
      one.update({{"launches", row.launches},
                  {"leastMs", row.leastMilliseconds},
                  {"meanMs", row.milliseconds / static_cast<double>(row.launches)},
                  {"mostMs", row.mostMilliseconds}});
  }
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
               {"metricAtStart", level.startValue},
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

Json json(const RunQuality& quality)
{
  const auto orNull = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
  Json record{{"overlapBefore", quality.overlapBefore},
              {"overlap", quality.overlap},
              {"correlationBefore", orNull(quality.correlationBefore)},
              {"correlation", orNull(quality.correlation)},
              {"meanDisplacementMm", quality.meanDisplacementMm},
              {"largestDisplacementMm", quality.largestDisplacementMm},
              {"outside", quality.outside},
              {"determinant", orNull(quality.determinant)},
              {"mismatchSigns", quality.mismatchSigns()}};
  if (const auto& information = quality.mutualInformation)
    record["mutualInformation"] = {{"nats", information->nats},
                                   {"turnedAnyhow", information->turnedAnyhow},
                                   {"turnedBy10Degrees", information->turnedBy10Degrees},
                                   {"shifted", information->shifted}};
  if (quality.points)
    record["points"] = {{"count", quality.points->count},
                        {"beforeMm", quality.points->beforeMm},
                        {"meanMm", quality.points->meanMm},
                        {"largestMm", quality.points->largestMm}};
  if (const auto& change = quality.overTime) // JSON writes null for NaN
    record["overTime"] = {{"deviationPercentBefore", change->deviationPercentBefore},
                          {"deviationPercent", change->deviationPercent},
                          {"dvarsPercentBefore", change->dvarsPercentBefore},
                          {"dvarsPercent", change->dvarsPercent}};
  if (quality.labels) {
    Json dice = Json::object(), diceBefore = Json::object(), labels = Json::object();
    for (const auto& [label, found] : quality.labels->byLabel) {
      const std::string name = std::to_string(label);
      dice[name] = found.dice;
      diceBefore[name] = found.diceBefore;
      labels[name] = {{"fixedVolume", found.fixedVolume},
                      {"movingVolume", found.movingVolume},
                      {"fixedVoxels", found.fixedVoxels},
                      {"movingVoxels", found.movingVoxels},
                      {"logJacobianIntegral", found.logJacobianIntegral},
                      {"meanLogJacobian", orNull(found.meanLogJacobian)},
                      {"foldedVoxels", found.foldedVoxels}};
      if (!found.name.empty())
        labels[name]["name"] = found.name;
    }
    record["dice"] = {{"mean", quality.labels->meanDice},
                      {"labels", dice},
                      {"meanBefore", quality.labels->meanDiceBefore},
                      {"labelsBefore", diceBefore}};
    record["labels"] = labels;
  }
  return record;
}

Json json(const std::vector<EffectiveParameter>& parameters)
{
  Json values = Json::object();
  for (const EffectiveParameter& parameter : parameters)
    values[parameter.name] = {{"values", parameter.values}, {"given", parameter.isGiven}};
  return values;
}

/// "cpu", "cuda", or "cpu+cuda" where stages ran on both.
std::string deviceKind(const RunSummary& run, const std::string& asked)
{
  bool onCpu = false, onCuda = false;
  for (const StageSummary& stage : run.stages)
    (stage.device.starts_with("cuda") ? onCuda : onCpu) = true;
  if (run.stages.empty())
    (asked.starts_with("cuda") ? onCuda : onCpu) = true;
  return onCpu && onCuda ? "cpu+cuda" : onCuda ? "cuda" : "cpu";
}

Json json(const StageSummary& stage)
{
  Json levels = Json::array();
  for (const LevelSummary& level : stage.levels)
    levels.push_back(json(level));
  Json summary{{"parameterFile", stage.parameterFile},
               {"parameters", json(stage.parameters)},
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
  if (stage.isSeries)
    summary["series"] = true;
  return summary;
}

}

Json recordOf(const RunRequest& request, const InputHeaders& headers, const RunSummary& run,
              const RecordFacts& facts, const Json& provenance)
{
  Json stages = Json::array(), files = Json::array();
  std::vector<std::string> outputs;
  for (const StageSummary& stage : run.stages) {
    stages.push_back(json(stage));
    outputs.insert(outputs.end(), stage.files.begin(), stage.files.end());
  }
  for (const std::vector<std::string>* list : {&std::as_const(outputs), &facts.files})
    for (const std::string& file : *list)
      files.push_back(file);
  const std::string key = runKey(facts.digests, request.reading, deviceKind(run, request.device));
  const Failure& failure = facts.failure;
  Json record{{"program", "tessera"},
              {"status", failure.code == 0    ? "done"
                         : failure.code > 128 ? "interrupted"
                                              : "failed"},
              {"exitCode", failure.code},
              {"message", failure.message},
              {"input", facts.failedInput.empty() ? Json() : Json(facts.failedInput)},
              {"key", key.empty() ? Json() : Json(key)}};
  record.update(provenance);
  record.update(Json{{"command", facts.command},
                     {"started", facts.started},
                     {"finished", facts.finished},
                     {"seconds", facts.seconds},
                     {"readingSeconds", run.readingSeconds},
                     {"device", run.device},
                     {"deviceReason", run.deviceReason},
                     {"threads", run.threads},
                     {"inputFiles", json(facts.digests)},
                     {"inputs",
                      {{"fixed", json(headers.fixed)},
                       {"moving", json(headers.moving)},
                       {"fixedMasks", json(headers.fixedMasks)},
                       {"movingMasks", json(headers.movingMasks)},
                       {"fixedPoints", request.fixedPoints.path},
                       {"movingPoints", request.movingPoints.path},
                       {"pointsOutside", run.pointsOutside},
                       {"pointWeights", request.pointWeights.path},
                       {"initialTransform", request.initialTransform.path},
                       {"startAt", request.startAt.path}}},
                     {"stages", stages},
                     {"finalMetric", run.stages.empty() ? Json() : Json(run.stages.back().finalMetric)},
                     {"quality", run.quality ? json(*run.quality) : Json()},
                     {"outputFiles", files},
                     {"outputs", jsonOfOutputs(outputs, facts.digestOfOutput)},
                     {"warnings", facts.warnings}});
  if (const auto& series = run.series)
    record["series"] = {{"volumes", series->volumes},
                        {"volumesWithoutResult", series->failed},
                        {"correlation", series->correlation},
                        {"framewiseDisplacementMm",
                         series->framewiseDisplacementMm ? Json(*series->framewiseDisplacementMm) : Json()}};
  return record;
}

}
