#include "Components/RegisterComponents.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/Files/ScratchFolder.h"
#include "Core/Compute/Memory/Memory.h"
#include "Tools/Cohort/CohortRows.h"
#include "Tools/Cohort/CohortRun.h"
#include "Tools/Common/Process.h"
#include "Tools/Register/RegisterRun.h"
#include "Tools/Register/StageDevice.h"

#include <algorithm>
#include <filesystem>

namespace tessera {
namespace {

namespace fs = std::filesystem;

RegisterOptions optionsOfRow(const ManifestRow& row, const CohortFolder& folder, const CohortOptions& options,
                             int threads)
{
  const auto device = row.options.find("device");
  const std::vector<std::string> tokens =
      tokensOf(row, folder, device == row.options.end() ? options.device : device->second.front(), threads,
               options.forRows);
  const Arguments arguments = parseCommandLine(registerText().groups, tokens);
  RegisterOptions run = registerOptions(arguments, false);
  run.threads = threadCount(arguments, run.threadSource);
  run.isCudaStarted = true;
  return run;
}

/// The number of rows that run at once on the CPU.
int jobsOf(const CohortOptions& options)
{
  return options.jobs > 0 ? options.jobs : options.threads;
}

std::string timeText(double seconds)
{
  return seconds < 120    ? decimals(seconds, 0) + " s"
         : seconds < 7200 ? decimals(seconds / 60, 0) + " min"
                          : decimals(seconds / 3600, 1) + " h";
}

/// Registers a row and tells what all rows will take if they are like it.
void tryRow(const Registry& registry, const ManifestRow& row, std::size_t rows, const CohortOptions& options,
            RunLog& log)
{
  const ScratchFolder scratch("tessera-cohort-");
  const CohortFolder folder(scratch.path(), 1);
  const int jobs = jobsOf(options);
  RegisterOptions run = optionsOfRow(row, folder, options, std::max(1, options.threads / jobs));
  fs::create_directories(run.outputFolder);
  RunLog ofRow(LogLevel::off);
  const auto registered = [&] {
    runRegistration(registry, run, "tessera-cohort", ofRow);
    return readRowRecord(folder.rowFolder(row.id)).value();
  };
  RowRecord record = registered();
  const bool onCuda = record.text.find("\"device\": \"cuda") != std::string::npos;
  if (onCuda) // in a cohort CUDA is started once
    record = registered();
  double bytes = 0;
  for (const auto& entry : fs::recursive_directory_iterator(run.outputFolder))
    bytes += entry.is_regular_file() ? static_cast<double>(entry.file_size()) : 0;
  const double seconds = record.seconds * static_cast<double>(rows) / (onCuda ? 1 : jobs);
  log.info("Trial: row " + row.id + " took " + decimals(record.seconds, 1) + " s on "
           + (onCuda ? "a GPU" : "the CPU") + ". All " + std::to_string(rows) + " rows take "
           + (onCuda ? "at most " : "about ") + timeText(seconds)
           + (onCuda ? " on one GPU" : " with " + std::to_string(jobs) + " at once") + ", and "
           + memoryText(bytes * static_cast<double>(rows)) + " of disk.");
}

}

int checkCohort(const CohortOptions& options, RunLog& log)
{
  const Manifest manifest = readManifest(options.operand, options.defaults);
  tellWarnings(manifest, options.strict, log);
  Registry registry;
  registerComponents(registry);
  const CohortFolder folder("checked", manifest.rows.size()); // a name for messages; nothing is written
  std::size_t failed = 0;
  std::vector<std::pair<double, const ManifestRow*>> good; // with the bytes of memory of each
  const int jobs = jobsOf(options);
  double onCpu = 0, onCuda = 0; // predicted seconds of all rows
  bool mayEndEarly = false;
  for (const ManifestRow& row : manifest.rows) {
    RunLog ofRow(LogLevel::off);
    try {
      const RegisterOptions run = optionsOfRow(row, folder, options, std::max(1, options.threads / jobs));
      const PredictedRun predicted = checkRegistration(registry, run, ofRow);
      (predicted.onCuda ? onCuda : onCpu) += predicted.seconds;
      mayEndEarly |= predicted.mayEndEarly;
      good.emplace_back(hostNeed(readHeaders(run), readStages(run.parameterFiles, ofRow)).bytes(), &row);
    } catch (...) {
      const Failure failure = failureOf(std::current_exception());
      log.error(manifest.path + ":" + std::to_string(row.line) + ": " + row.id + ": " + failure.message);
      ++failed;
    }
    log.progress(row.id);
  }
  std::ranges::sort(good);
  log.info(std::to_string(manifest.rows.size()) + " rows: " + std::to_string(good.size()) + " can begin, "
           + std::to_string(failed) + " would fail. The largest takes about "
           + memoryText(good.empty() ? 0 : good.back().first + processBytes) + " of memory.");
  if (!good.empty())
    log.info("Time: " + std::string(mayEndEarly ? "at most " : "about ")
             + timeText(std::max(onCpu / jobs, onCuda)) + " for all rows with " + std::to_string(jobs)
             + " at once on the CPU, rows on a GPU one after the other; reading and writing not counted.");
  if (options.trial && !good.empty())
    tryRow(registry, *good[good.size() / 2].second, good.size(), options, log);
  return failed == 0 ? 0 : static_cast<int>(ExitCode::usage);
}

}
