#include "Tools/Register/RunSummary.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Tools/Register/OutputNames.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <system_error>

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
              {"largestDisplacementMm", quality.largestDisplacementMm}};
  if (quality.points)
    record["points"] = {{"count", quality.points->count},
                        {"beforeMm", quality.points->beforeMm},
                        {"meanMm", quality.points->meanMm},
                        {"largestMm", quality.points->largestMm}};
  if (quality.labels) {
    Json dice = Json::object(), labels = Json::object();
    for (const auto& [label, found] : quality.labels->byLabel) {
      const std::string name = std::to_string(label);
      dice[name] = found.dice;
      labels[name] = {{"fixedVolume", found.fixedVolume},
                      {"movingVolume", found.movingVolume},
                      {"logJacobianIntegral", found.logJacobianIntegral},
                      {"meanLogJacobian", orNull(found.meanLogJacobian)},
                      {"foldedVoxels", found.foldedVoxels}};
    }
    record["dice"] = {{"mean", quality.labels->meanDice}, {"labels", dice}};
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
std::string deviceKind(const RunSummary& run)
{
  bool onCpu = false, onCuda = false;
  for (const StageSummary& stage : run.stages)
    (stage.device.starts_with("cuda") ? onCuda : onCpu) = true;
  if (run.stages.empty())
    (run.deviceAsked.starts_with("cuda") ? onCuda : onCpu) = true;
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
  return summary;
}

void writePage(const std::string& folder, const RunSummary& run, const Json& record)
{
  std::vector<StageCurves> curves;
  for (const StageSummary& stage : run.stages)
    curves.push_back(stage.curves);
  if (run.pictures)
    writeTextFile(folder + thumbnailName, run.pictures->thumbnail, Sync::no);
  writeTextFile(folder + pageName, runPage(record, run.pictures ? &*run.pictures : nullptr, curves),
                Sync::no);
}

}

std::vector<InputDigest> digestsOf(const RunSummary& run)
{
  std::vector<InputDigest> digests;
  for (const RunInput& input : run.inputFiles)
    digests.push_back(digestOf(input, run.digestOfOne, run.stopOfDigests.get_token()));
  return digests;
}

void writeSummary(const std::string& folder, RunSummary& run)
{
  Json stages = Json::array(), files = Json::array();
  std::vector<std::string> outputs;
  for (const StageSummary& stage : run.stages) {
    stages.push_back(json(stage));
    outputs.insert(outputs.end(), stage.files.begin(), stage.files.end());
  }
  for (const std::string& file : outputs)
    files.push_back(file);
  files.push_back(run.log);
  if (run.hasPage)
    files.push_back(folder + pageName);
  if (run.pictures)
    files.push_back(folder + thumbnailName);
  if (run.failure.code != 0) // which is told after the record is written
    run.stopOfDigests.request_stop();
  std::vector<InputDigest> digests(run.inputFiles.size());
  if (run.digests.valid())
    digests = run.digests.get();
  for (std::size_t i = 0; i < digests.size() && run.failure.code != 0; ++i)
    if (digests[i].sha256.empty())
      digests[i] =
          digestOf(run.inputFiles[i], run.digestOfOne, {}, run.failure.code > 128 ? 0 : largestAfterFailure);
  const std::string key = runKey(digests, run.inputs.reading, deviceKind(run));
  const Failure& failure = run.failure;
  Json summary{{"program", "tessera"},
               {"status", failure.code == 0    ? "done"
                          : failure.code > 128 ? "interrupted"
                                               : "failed"},
               {"exitCode", failure.code},
               {"message", failure.message},
               {"input", run.failedInput.empty() ? Json() : Json(run.failedInput)},
               {"key", key.empty() ? Json() : Json(key)}};
  summary.update(provenance());
  summary.update(Json{{"command", run.command},
                      {"started", run.started},
                      {"finished", run.finished},
                      {"seconds", run.seconds},
                      {"readingSeconds", run.readingSeconds},
                      {"device", run.device},
                      {"deviceReason", run.deviceReason},
                      {"threads", run.threads},
                      {"inputFiles", json(digests)},
                      {"inputs",
                       {{"fixed", json(run.inputs.fixed)},
                        {"moving", json(run.inputs.moving)},
                        {"fixedMasks", json(run.inputs.fixedMasks)},
                        {"movingMasks", json(run.inputs.movingMasks)},
                        {"fixedPoints", run.fixedPoints},
                        {"movingPoints", run.movingPoints},
                        {"pointWeights", run.pointWeights},
                        {"initialTransform", run.initialTransform}}},
                      {"stages", stages},
                      {"finalMetric", run.stages.empty() ? Json() : Json(run.stages.back().finalMetric)},
                      {"quality", run.quality ? json(*run.quality) : Json()},
                      {"outputFiles", files},
                      {"outputs", jsonOfOutputs(outputs)},
                      {"warnings", run.warnings}});
  if (run.hasPage)
    writePage(folder, run, summary);
  const std::string text = summary.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  writeTextFile(folder + summaryName, text, Sync::no); // run.json has the same bytes
  writeTextFile(folder + runName, text);               // last: a folder that has it is complete
}

RunSummary startOfSummary(const RegisterOptions& options, const std::string& folder)
{
  RunSummary summary;
  summary.command = options.commandLine;
  summary.inputs.reading = options.reading;
  summary.started = currentTime();
  summary.initialTransform = options.initialTransform;
  summary.fixedPoints = options.fixedPoints;
  summary.movingPoints = options.movingPoints;
  summary.pointWeights = options.pointWeights;
  summary.log = folder + logName;
  summary.inputFiles = runInputsOf(options);
  summary.deviceAsked = options.device;
  summary.hasPage = options.report;
  return summary;
}

void recordFailure(const RegisterOptions& options, const Failure& failure)
{
  const std::string folder = prepareOutputFolder(options.outputFolder);
  RunSummary summary = startOfSummary(options, folder);
  summary.finished = summary.started;
  summary.failure = failure;
  summary.failedInput = inputNamedIn(failure.message, inputFilesOf(options));
  writeSummary(folder, summary);
}

void replaceRecord(const RegisterOptions& options, const Failure& failure)
{
  std::error_code ignored;
  if (options.outputFolder.empty()
      || !std::filesystem::exists(std::filesystem::path(options.outputFolder) / summaryName, ignored))
    return;
  try {
    recordFailure(options, failure);
  } catch (const Error&) { // the run's own error is reported, not this one
  }
}

}
