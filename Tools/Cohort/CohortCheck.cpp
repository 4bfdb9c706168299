#include "Components/RegisterComponents.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/Files/ScratchFolder.h"
#include "Core/Runs/Prediction/HostNeed.h"
#include "Tools/Cohort/CohortRows.h"
#include "Tools/Cohort/CohortRun.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/Signals.h"
#include "Tools/Register/RegisterRun.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <numeric>

namespace tessera {
namespace {

namespace fs = std::filesystem;

RunRequest readRequestOf(const ManifestRow& row, const CohortFolder& folder, const CohortOptions& options,
                         const std::string& device, int threads)
{
  RunRequest request = requestOf(row, folder, options, device, threads);
  for (StageText& stage : request.stages)
    stage = readStageText(stage.path);
  return request;
}

/// How so many rows share the CPU, as a run shares it.
struct SharedCpu {
  int jobs, threadsOfRow, threads;

  SharedCpu(const CohortOptions& options, std::size_t rows)
      : jobs(static_cast<int>(
          std::clamp<std::size_t>(rows, 1, options.jobs > 0 ? options.jobs : options.threads))),
        threadsOfRow(std::max(1, options.threads / jobs)), threads(options.threads)
  {
  }

  /// The time of all rows, which take `sum` seconds one after the other, the longest of them `largest`.
  double seconds(double sum, double largest) const
  {
    return std::max(sum / std::min(jobs, threads), largest);
  }
};

std::string counted(std::size_t count, const std::string& what)
{
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// Registers a row and tells what all rows will take if they are like it.
void tryRow(const Registry& registry, const ManifestRow& row, std::size_t rows, const CohortOptions& options,
            Log& log)
{
  const ScratchFolder scratch("tessera-cohort-");
  const CohortFolder folder(scratch.path(), 1);
  const SharedCpu cpu(options, rows);
  const RegisterOptions run{
      readRequestOf(row, folder, options, deviceKindOf(row, options.device), cpu.threadsOfRow), "", false};
  fs::create_directories(run.request.outputFolder);
  const auto registered = [&] {
    RunLog ofRow(LogLevel::off);
    runRegistration(registry, run, "tessera-cohort", ofRow, false);
    return readRowRecord(folder.rowFolder(row.id)).value();
  };
  RowRecord record = registered();
  const bool onCuda = record.text.find("\"device\": \"cuda") != std::string::npos;
  if (onCuda) // in a cohort CUDA is started once
    record = registered();
  double bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(run.request.outputFolder))
    bytes += entry.is_regular_file() ? static_cast<double>(entry.file_size()) : 0;
  const double sum = record.seconds * static_cast<double>(rows);
  log.info("Trial: row " + row.id + " took " + timeText(record.seconds) + " on "
           + (onCuda ? "a GPU" : "the CPU") + ". "
           + (rows == 1 ? "One row takes " : "All " + counted(rows, "row") + " take ")
           + (onCuda ? "at most " : "about ") + timeText(onCuda ? sum : cpu.seconds(sum, record.seconds))
           + (onCuda ? " on one GPU" : " with " + std::to_string(cpu.jobs) + " at once") + ", and "
           + memoryText(bytes * static_cast<double>(rows)) + " of disk.");
}

}

int checkCohort(const CohortOptions& options, Log& log)
{
  const Manifest manifest = readManifest(options.operand, options.defaults);
  tellWarnings(manifest, options.strict, log);
  Registry registry;
  registerComponents(registry);
  const CohortFolder folder("checked", manifest.rows.size()); // a name for messages; nothing is written
  std::size_t failed = 0;
  std::vector<std::pair<double, const ManifestRow*>> good; // with the bytes of memory of each
  const SharedCpu cpu(options, manifest.rows.size());
  double onCpu = 0, largestOnCpu = 0, onCuda = 0; // predicted seconds of all rows, and of one
  bool mayEndEarly = false;
  for (const ManifestRow& row : manifest.rows) {
    Log ofRow;
    try {
      const std::string device = deviceKindOf(row, options.device);
      const RunPlan plan =
          planOf(registry, readRequestOf(row, folder, options, device, cpu.threadsOfRow), ofRow);
      const double seconds = plan.times.sum();
      (plan.onCuda ? onCuda : onCpu) += seconds;
      if (!plan.onCuda)
        largestOnCpu = std::max(largestOnCpu, seconds);
      mayEndEarly |= plan.mayEndEarly;
      good.emplace_back(plan.host.bytes(), &row);
    } catch (...) {
      const Failure failure = failureOf(std::current_exception(), caughtSignal());
      log.error(manifest.path + ":" + std::to_string(row.line) + ": " + row.id + ": " + failure.message);
      ++failed;
    }
    log.progress(row.id);
  }
  std::ranges::sort(good);
  log.info(counted(manifest.rows.size(), "row") + ": " + std::to_string(good.size()) + " ready, "
           + std::to_string(failed) + " would fail. The largest takes about "
           + memoryText(good.empty() ? programBytes : good.back().first) + " of memory.");
  if (!good.empty())
    log.info("Time: about " + timeText(std::max(cpu.seconds(onCpu, largestOnCpu), onCuda)) + " for all rows"
             + (mayEndEarly ? " if no level ends early" : "")
             + (onCpu > 0 ? ", " + std::to_string(cpu.jobs) + " at once on the CPU with "
                                + counted(cpu.threadsOfRow, "thread") + " each"
                          : "")
             + (onCuda > 0 ? ", one after the other on a GPU" : "")
             + ". An estimate without inverses and pages: --trial measures all of it with one row.");
  if (options.trial && !good.empty())
    tryRow(registry, *good[good.size() / 2].second, good.size(), options, log);
  return failed == 0 ? 0 : static_cast<int>(ExitCode::usage);
}

double bytesOfRowsAtOnce(const CohortOptions& options, std::size_t rowsAtOnce, Log& log)
{
  const Manifest manifest = readManifest(options.operand, options.defaults);
  Registry registry;
  registerComponents(registry);
  const CohortFolder folder("checked", manifest.rows.size()); // a name for messages; nothing is written
  std::vector<double> bytes;
  for (const ManifestRow& row : manifest.rows) {
    Log ofRow;
    try {
      bytes.push_back(
          planOf(registry, readRequestOf(row, folder, options, "cpu", options.threads), ofRow).host.bytes());
    } catch (const Error&) { // check tells it
    }
  }
  if (const std::size_t failed = manifest.rows.size() - bytes.size(); failed > 0)
    log.warning(counted(failed, "row") + " would fail. Type: tessera-cohort check " + options.operand
                + " ..., which says why.");
  std::ranges::sort(bytes, std::greater());
  bytes.resize(std::min(bytes.size(), rowsAtOnce));
  return bytes.empty() ? 0 : std::accumulate(bytes.begin(), bytes.end(), 2 * programBytes);
}

}
