#include "Tools/Cohort/CohortTables.h"

#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Runs/OutputNames.h"
#include "Core/Runs/Prediction/HostNeed.h"
#include "Core/Runs/Report/CohortVerdicts.h"
#include "Tools/Cohort/CohortRows.h"
#include "Tools/Cohort/CohortRun.h"
#include "Tools/Cohort/RowClaim.h"
#include "Tools/Cohort/RowWorker.h"
#include "Tools/Common/Process.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

/// A column of results.tsv that comes from run.json.
struct Figure {
  const char* name;
  const char* pointer;
};

constexpr Figure figures[] = {{"status", "/status"},
                              {"exitCode", "/exitCode"},
                              {"message", "/message"},
                              {"seconds", "/seconds"},
                              {"device", "/device"},
                              {"finalMetric", "/finalMetric"},
                              {"overlapBefore", "/quality/overlapBefore"},
                              {"overlap", "/quality/overlap"},
                              {"correlationBefore", "/quality/correlationBefore"},
                              {"correlation", "/quality/correlation"},
                              {"meanDisplacementMm", "/quality/meanDisplacementMm"},
                              {"largestDisplacementMm", "/quality/largestDisplacementMm"},
                              {"diceBefore", "/quality/dice/meanBefore"},
                              {"dice", "/quality/dice/mean"},
                              {"pointsBeforeMm", "/quality/points/beforeMm"},
                              {"pointsMeanMm", "/quality/points/meanMm"},
                              {"pointsLargestMm", "/quality/points/largestMm"},
                              {"volumes", "/series/volumes"},
                              {"framewiseDisplacementMm", "/series/framewiseDisplacementMm"},
                              {"peakHostBytes", "/peakHostBytes"}};
constexpr Figure volumeFigures[] = {{"jacobianLeast", "least"},     {"jacobianPercentile1", "percentile1"},
                                    {"jacobianMedian", "median"},   {"jacobianPercentile99", "percentile99"},
                                    {"jacobianLargest", "largest"}, {"foldedVoxels", "foldedVoxels"}};

/// A column of labels.tsv that comes from quality/labels of run.json.
constexpr const char* labelFigures[] = {"fixedVolume", "movingVolume", "logJacobianIntegral",
                                        "meanLogJacobian", "foldedVoxels"};

std::string valueOf(const Json& json)
{
  return json.is_null() ? "n/a" : json.is_string() ? asField(json.get<std::string>()) : json.dump();
}

}

std::string asField(std::string text)
{
  std::ranges::replace_if(
      text, [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  if (text.starts_with('=') || text.starts_with('@')) // which programs for tables would compute
    text.insert(0, 1, '\'');
  return text.empty() ? "n/a" : text;
}

bool writeFailures(const Manifest& manifest, const CohortFolder& folder)
{
  const std::string header = "id\tcode\tmessage\tlog\n";
  std::string table = header;
  for (const ManifestRow& row : manifest.rows) {
    const std::string rowFolder = folder.rowFolder(row.id);
    const std::optional<RowRecord> record = readRowRecord(rowFolder);
    if (record && record->status == "failed")
      table += row.id + "\t" + std::to_string(record->exitCode) + "\t" + asField(record->message) + "\t"
               + rowFolder + logName + "\n";
  }
  const std::string path = folder.file("failures.tsv");
  const bool hasFailures = table != header;
  if (hasFailures)
    writeTextFile(path, table);
  else
    std::filesystem::remove(path);
  return hasFailures;
}

int tellStatus(const CohortOptions& options, Log& log)
{
  const CohortResults results = cohortResultsIn(options.operand);
  std::size_t done = 0, failed = 0, running = 0;
  double seconds = 0;
  std::map<std::string, std::size_t> causes;
  for (const ManifestRow& row : results.manifest.rows) {
    const std::string folder = results.folder.rowFolder(row.id);
    const std::optional<RowRecord> record = readRowRecord(folder);
    if (RowClaim(folder, std::chrono::seconds(options.claimSeconds)).isTaken()) {
      ++running;
    } else if (record && record->isDone()) {
      ++done;
      seconds += record->seconds;
    } else if (record && record->status == "failed") {
      ++failed;
      ++causes["code " + std::to_string(record->exitCode) + ": " + record->message];
    }
  }
  const std::size_t rows = results.manifest.rows.size();
  log.info(std::to_string(rows) + " rows: " + std::to_string(done) + " done, " + std::to_string(failed)
           + " failed, " + std::to_string(running) + " running, "
           + std::to_string(rows - done - failed - running) + " waiting.");
  if (done > 0)
    log.info("A row that is done took " + decimals(seconds / static_cast<double>(done), 2)
             + " s on average.");
  for (const auto& [cause, count] : causes)
    log.info("  " + std::to_string(count) + " x " + asField(cause));
  return 0;
}

namespace {

/// The values of a run's record for results.tsv, each with a tab before it.
std::string textOfRecord(const Json& record)
{
  std::string text;
  for (const Figure& figure : figures)
    text += "\t" + valueOf(recordAt(record, figure.pointer));
  const std::size_t stages = record.value("stages", Json::array()).size();
  for (const Figure& figure : volumeFigures)
    text += "\t"
            + valueOf(recordAt(record, "/stages/" + std::to_string(stages == 0 ? 0 : stages - 1)
                                           + "/spatialJacobianDeterminant/" + figure.pointer));
  return text;
}

/// The lines of a run for labels.tsv.
std::string labelLines(const std::string& id, const Json& record)
{
  std::string lines;
  for (const auto& [label, value] : recordAt(record, "/quality/dice/labels").items()) {
    lines += id + "\t" + label + "\t" + valueOf(recordAt(record, "/quality/dice/labelsBefore/" + label))
             + "\t" + value.dump();
    for (const char* figure : labelFigures)
      lines += "\t" + valueOf(recordAt(record, "/quality/labels/" + label + "/" + figure));
    lines += "\n";
  }
  return lines;
}

}

int writeTables(const CohortOptions& options, Log& log)
{
  const CohortResults results = cohortResultsIn(options.operand);
  std::string text = "id", labelsHeader = "id\tlabel\tdiceBefore\tdice";
  for (const char* figure : labelFigures)
    labelsHeader += std::string("\t") + figure;
  labelsHeader += "\n";
  std::string labels = labelsHeader;
  const auto isFigure = [](const std::string& name) {
    const auto isThat = [&](const Figure& figure) { return name == figure.name; };
    return std::ranges::any_of(figures, isThat) || std::ranges::any_of(volumeFigures, isThat);
  };
  for (const std::string& name : results.manifest.covariates)
    text += (isFigure(name) ? "\tcovariate_" : "\t") + name;
  for (const Figure& figure : figures)
    text += std::string("\t") + figure.name;
  for (const Figure& figure : volumeFigures)
    text += std::string("\t") + figure.name;
  text += "\n";
  for (const ManifestRow& row : results.manifest.rows) {
    const std::string rowFolder = results.folder.rowFolder(row.id);
    const std::optional<RowRecord> found = readRowRecord(rowFolder);
    text += row.id;
    for (const std::string& value : row.covariates)
      text += "\t" + asField(value);
    if (!found)
      text += textOfRecord(Json{{"status", "waiting"}}) + "\n";
    else
      readJson(rowFolder, *found, [&](const Json& record) {
        text += textOfRecord(record) + "\n";
        labels += labelLines(row.id, record);
      });
  }
  writeTextFile(results.folder.file("results.tsv"), text);
  log.info("Wrote " + results.folder.file("results.tsv") + ": " + std::to_string(results.manifest.rows.size())
           + " rows.");
  if (labels.size() > labelsHeader.size()) {
    writeTextFile(results.folder.file("labels.tsv"), labels);
    log.info("Wrote " + results.folder.file("labels.tsv") + ".");
  }
  return 0;
}

namespace {

/// What a task of the script asks Slurm for: GPUs only if a row runs on one, and the memory of the rows that
/// run at once. A cohort takes four fifths of the memory that it finds, unless --max-memory says how much.
std::string needsOfTask(const CohortOptions& options, const std::string& device, Log& log)
{
  std::size_t onCuda = 0, onCpu = 0;
  for (const ManifestRow& row : readManifest(options.operand, options.defaults).rows)
    ++(deviceKindOf(row, device) == "cuda" ? onCuda : onCpu);
  if (onCuda == 0)
    log.info("No GPU is asked for, since all rows run on the CPU. --device cuda asks for one a task.");
  const auto atOnce = [&](std::size_t rows, int without) {
    return std::min<std::size_t>(rows, options.jobs > 0 ? options.jobs : without);
  };
  const double bytes =
      std::isfinite(options.maxMemory)
          ? options.maxMemory + 2 * programBytes
          : bytesOfRowsAtOnce(options, atOnce(onCuda, lanesOfGpu) + atOnce(onCpu, options.threads), log)
                / 0.8;
  if (bytes == 0)
    log.warning("No row can be planned, so the script does not ask for memory (--mem).");
  return (onCuda > 0 ? "#SBATCH --gpus-per-node=1\n" : "")
         + (bytes > 0 ? "#SBATCH --mem=" + decimals(std::ceil(bytes / 1048576), 0) + "M\n" : std::string());
}

}

int writeSlurmScript(const CohortOptions& options, const std::string& program, Log& log)
{
  namespace fs = std::filesystem;
  const std::string folder = prepareOutputFolder(options.outputFolder);
  const std::optional<CohortFile> before = readCohortFile(folder);
  const std::string device = options.device != "auto"             ? options.device
                             : before                             ? before->deviceKind
                             : RowWorker("all", 1).gpuCount() > 0 ? "cuda"
                                                                  : "cpu";
  const auto quoted = [](const std::string& word) { return commandLineText(word, {}); };
  std::string run = "exec " + quoted(program) + " run "
                    + quoted(fs::absolute(options.operand).lexically_normal().string()) + " -out "
                    + quoted(fs::absolute(folder).lexically_normal().string());
  for (const auto& [name, values] : options.defaults)
    for (std::size_t i = 0; i < values.size() && isPathOption(name); ++i)
      run += (name.ends_with("Labels") ? " --" : " -") + name
             + (values.size() > 1 && name != "p" ? std::to_string(i) : "") + " "
             + quoted(fs::absolute(values[i]).lexically_normal().string());
  run += std::string(options.defaults.contains("inverse-too") ? " --inverse-too" : "") + " --device " + device
         + (options.strict ? " --strict" : "") + (options.pages ? "" : " --no-pages");
  if (options.jobs > 0)
    run += " --jobs " + std::to_string(options.jobs);
  if (std::isfinite(options.maxMemory))
    run += " --max-memory " + decimals(options.maxMemory / 1e6, 3) + "MB";
  if (options.claimSeconds != CohortOptions().claimSeconds)
    run += " --claim-age " + std::to_string(options.claimSeconds);
  std::string sbatch;
  for (const std::string& words : options.sbatch)
    sbatch += "#SBATCH " + words + "\n";
  const std::string here = fs::absolute(folder).lexically_normal().string();
  const std::string text =
      "#!/bin/sh\n"
      "#SBATCH --array=1-"
      + std::to_string(options.tasks)
      + "\n"
        "#SBATCH --nodes=1\n"
        "#SBATCH --ntasks=1\n"
        "#SBATCH --cpus-per-task="
      + std::to_string(options.threads) + "\n" + needsOfTask(options, device, log)
      + "#SBATCH --time=" + options.time
      + "\n"
        "#SBATCH --requeue\n"
        "#SBATCH --open-mode=append\n"
        "#SBATCH --output="
      + here
      + "slurm-%A_%a.log\n"
        "#SBATCH --signal=B:TERM@120\n"
      + sbatch
      + "# All tasks share the rows; a task that is lost gives its rows back. Submit it again to go on.\n"
      + run + "\n";
  const std::string path = folder + "cohort.sbatch";
  writeTextFile(path, text);
  log.info("Wrote " + path + ". Submit it with: sbatch " + path);
  log.info("Afterwards: sbatch --dependency=afterany:JOB --wrap '" + quoted(program) + " table " + here
           + " && " + quoted(program) + " report " + here + "'");
  return 0;
}

}
