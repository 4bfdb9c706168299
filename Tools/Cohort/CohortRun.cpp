#include "Tools/Cohort/CohortRun.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Runs/OutputNames.h"
#include "Core/Runs/Prediction/HostNeed.h"
#include "Tools/Cohort/CohortTables.h"
#include "Tools/Cohort/CohortTally.h"
#include "Tools/Cohort/OpenCohort.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/Signals.h"
#include "Tools/Register/RunRecorder.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <poll.h>
#include <unistd.h>

namespace tessera {
namespace {

using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr std::size_t alikeBeforeStop = 20;

/// A run of a cohort in one process: it takes rows, hands them to workers and keeps the order of things.
class Cohort {
public:
  Cohort(const CohortOptions& options, Log& log)
      : options_(options), log_(log), cohort_(options, log), tally_(cohort_.rowCount())
  {
  }

  int run()
  {
    watchSignals();
    findWaiting();
    try {
      if (!waiting_.empty())
        startWorkers();
      work();
    } catch (...) {
      workers_.clear();
      for (const auto& [index, bytes] : running_)
        cohort_.claim(index).release();
      for (const std::size_t index : suspects_)
        cohort_.claim(index).release();
      throw;
    }
    return finish();
  }

private:
  void work()
  {
    while (!isOver()) {
      reapWorkers();
      if (!stopAsked() && !isStopping_)
        handOut();
      if (stopAsked())
        stopWorkers();
      lookElsewhere();
      waitForAnswers();
      touchClaims();
      showProgress(false);
    }
  }

  void findWaiting()
  {
    std::size_t doneBefore = 0;
    waiting_ = cohort_.waitingRows([&](std::size_t index, RowState state, const RowRecord& record) {
      if (state == RowState::waiting)
        ++doneBefore;
      else
        record.isDone() ? tally_.addSkipped() : addFailure({index, record.exitCode, record.message, {}});
    });
    log_.info(std::to_string(cohort_.rowCount()) + " rows: " + std::to_string(tally_.skipped())
              + " are done, " + std::to_string(tally_.failed()) + " would fail again, "
              + std::to_string(waiting_.size()) + " are ready."
              + (tally_.failed() > 0 ? " --again failed tries those again." : ""));
    if (doneBefore > 0 && options_.again.empty())
      log_.info(
          "Of the rows that are ready, " + std::to_string(doneBefore)
          + " were done before and are done again, because their images or parameter files have changed or "
            "results are missing. Ctrl-C stops this; another folder for -out keeps what is there.");
  }

  void startWorkers()
  {
    std::size_t cpuRows = 0, cudaRows = 0;
    for (const std::size_t index : waiting_)
      ++(cohort_.kindOf(index) == "cuda" ? cudaRows : cpuRows);
    if (cudaRows > 0) {
      const std::vector<std::string>& gpus = cohort_.gpus();
      if (gpus.empty())
        failAs(ExitCode::device, "--device",
               std::to_string(cudaRows)
                   + " rows are to run on cuda, and this machine has no GPU that can be used",
               "a machine with one, or a cohort of --device cpu");
      lanes_ = options_.jobs > 0 ? std::max(1, options_.jobs / static_cast<int>(gpus.size())) : lanesOfGpu;
      gpuOfWorker_ = gpus;
    }
    const int threadsOfGpus = cudaRows > 0 ? lanesOfGpu * static_cast<int>(cohort_.gpus().size()) : 0;
    const int jobs = options_.jobs > 0 ? options_.jobs : std::max(1, options_.threads - threadsOfGpus);
    const int cpuJobs = cpuRows == 0 ? 0 : static_cast<int>(std::min<std::size_t>(cpuRows, jobs));
    threadsOfRow_ = std::max(1, options_.threads / std::max(1, cpuJobs + (cudaRows ? lanes_ : 0)));
    gpuOfWorker_.insert(gpuOfWorker_.end(), cpuJobs, "");
    workers_.resize(gpuOfWorker_.size());
    planner_ = std::make_unique<RowWorker>("", 1);
    limit_ = std::isfinite(options_.maxMemory) ? options_.maxMemory : 0.8 * availableMemoryBytes();
    log_.info("Workers: " + std::to_string(cpuJobs) + " on the CPU with " + threadsText(threadsOfRow_)
              + " each"
              + (cudaRows ? ", " + std::to_string(cohort_.gpus().size()) + " on GPUs with "
                                + std::to_string(lanes_) + " lanes each"
                          : std::string())
              + ".");
  }

  bool isOver() const
  {
    const bool works =
        std::ranges::any_of(workers_, [](const auto& worker) { return worker && !worker->rows().empty(); });
    const bool mayTake = !isStopping_ && !stopAsked();
    return !works && (!mayTake || (waiting_.empty() && suspects_.empty() && elsewhere_.empty()));
  }

  /// A process that ends while it works takes its rows along. Each is tried once more, alone.
  void reapWorkers()
  {
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      if (!workers_[w] || !workers_[w]->hasEnded())
        continue;
      const std::vector<std::size_t> lost = workers_[w]->rows();
      const int state = workers_[w]->end();
      workers_[w].reset();
      for (const std::size_t index : lost) {
        if (stopAsked())
          record(index, {index, 128 + caughtSignal(), "interrupted: its process was ended.", {}});
        else if (tried_.insert(index).second)
          suspects_.push_back(index);
        else
          record(index, answerOfDeath(index, state));
        if (stopAsked() || std::ranges::count(suspects_, index) == 0)
          cohort_.claim(index).release();
        running_.erase(index);
      }
    }
  }

  /// Leaves a record of a row whose process left none, such as one that crashed.
  void record(std::size_t index, const RowAnswer& answer)
  {
    RunRequest request = requestOf(cohort_.row(index), cohort_.folder(), options_, cohort_.kindOf(index), 1);
    try {
      recordFailure({request, "", false}, {answer.exitCode, answer.message});
    } catch (const Error& error) {
      log_.error(error.what());
    }
    take(answer);
  }

  double plannedBytes(const RunRequest& request)
  {
    const double bytes = planner_->hostBytes(request);
    if (planner_->hasEnded()) {
      planner_->end();
      planner_ = std::make_unique<RowWorker>("", 1);
    }
    return bytes + programBytes;
  }

  bool worksAtAll() const { return !running_.empty(); }

  void handOut()
  {
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      const bool onGpu = !gpuOfWorker_[w].empty();
      while (!isStopping_ && laneIsFree(w)) {
        const bool alone = waiting_.empty();
        if (alone && (suspects_.empty() || worksAtAll()))
          break;
        std::deque<std::size_t>& queue = alone ? suspects_ : waiting_;
        const auto next = std::ranges::find_if(
            queue, [&](std::size_t index) { return (cohort_.kindOf(index) == "cuda") == onGpu; });
        if (next == queue.end())
          break;
        const std::size_t index = *next;
        if (!begin(index, w, alone))
          break;
        queue.erase(std::ranges::find(queue, index));
      }
    }
  }

  bool laneIsFree(std::size_t w) const
  {
    return !workers_[w] || static_cast<int>(workers_[w]->rows().size()) < workers_[w]->lanes();
  }

  /// False if the row must wait for memory, or cannot be claimed for want of disk.
  bool begin(std::size_t index, std::size_t w, bool isSuspect)
  {
    const bool onGpu = !gpuOfWorker_[w].empty();
    const std::string device = !onGpu ? "cpu"
                               : cohort_.row(index).options.contains("device") || options_.device == "cuda"
                                   ? "cuda"
                                   : "auto";
    const RunRequest request =
        requestOf(cohort_.row(index), cohort_.folder(), options_, device, threadsOfRow_);
    const double bytes = plannedBytes(request);
    double taken = 0;
    for (const auto& [other, otherBytes] : running_)
      taken += otherBytes;
    if (taken > 0 && taken + bytes > limit_)
      return false;
    try {
      if (!isSuspect && !cohort_.claim(index).take()) {
        elsewhere_.push_back(index);
        return true;
      }
    } catch (const Error& error) {
      if (error.code() != ExitCode::unwritableOutput)
        throw;
      log_.warning(error.what());
      stopForWantOfDisk();
      return false;
    }
    running_[index] = bytes;
    if (!isSuspect && wasDoneMeanwhile(index)) {
      running_.erase(index);
      cohort_.claim(index).release();
      return true;
    }
    if (bytes > options_.maxMemory) {
      record(index, {index,
                     6,
                     "--max-memory: this row alone needs about " + decimals(bytes / 1e9, 2)
                         + " GB. Allowed: more memory, or smaller images.",
                     {}});
      running_.erase(index);
      cohort_.claim(index).release();
      return true;
    }
    if (!workers_[w])
      workers_[w] = std::make_unique<RowWorker>(gpuOfWorker_[w], onGpu ? lanes_ : 1);
    std::error_code left;                               // the row's process tells what it cannot replace
    for (const std::string& name : namesOfRecord(true)) // they stand for another run
      fs::remove(cohort_.rowFolder(index) + name, left);
    workers_[w]->start(index, request);
    return true;
  }

  /// Another process may have done the row between our look and our claim.
  bool wasDoneMeanwhile(std::size_t index)
  {
    if (!options_.again.empty())
      return false;
    std::optional<RowRecord> record;
    const RowState state = cohort_.state(index, false, record);
    if (state == RowState::done)
      tally_.addSkipped();
    else if (state == RowState::failed)
      addFailure({index, record->exitCode, record->message, {}});
    return state != RowState::waiting;
  }

  /// Rows that other processes had claimed: they are done, failed or free again.
  void lookElsewhere()
  {
    const auto now = Clock::now();
    if (elsewhere_.empty()
        || now - lastLook_ < std::chrono::seconds(std::clamp(options_.claimSeconds / 4, 1, 5)))
      return;
    lastLook_ = now;
    std::vector<std::size_t> still;
    for (const std::size_t index : elsewhere_)
      if (cohort_.claim(index).isTaken())
        still.push_back(index);
      else if (!wasDoneMeanwhile(index))
        waiting_.push_back(index);
    elsewhere_ = std::move(still);
    if (!elsewhere_.empty() && waiting_.empty() && !worksAtAll() && !std::exchange(isWaitTold_, true))
      log_.info("Waiting for other processes. They have rows that are not done: "
                + std::to_string(elsewhere_.size()) + ", such as " + cohort_.row(elsewhere_[0]).id
                + ", taken by " + cohort_.claim(elsewhere_[0]).ownerText()
                + ". A row is taken over once its process gave no sign for "
                + std::to_string(options_.claimSeconds) + " s (--claim-age).");
    if (!waiting_.empty() && workers_.empty())
      startWorkers();
  }

  void waitForAnswers()
  {
    std::vector<pollfd> sockets;
    for (const auto& worker : workers_)
      if (worker)
        sockets.push_back({worker->socket(), POLLIN, 0});
    poll(sockets.data(), sockets.size(), worksAtAll() ? 500 : 20);
    for (const auto& worker : workers_)
      while (worker) {
        std::optional<RowAnswer> answer = worker->answer();
        if (!answer)
          break;
        const bool wasEnded = answer->exitCode > 128 && !stopAsked(); // its process alone, by a signal
        if (wasEnded)
          answer = answerOfDeath(answer->row, 0);
        cohort_.keepDigests(answer->digests);
        const bool again = answer->exitCode == static_cast<int>(ExitCode::outOfMemory)
                           && tried_.insert(answer->row).second && !stopAsked();
        if (again)
          suspects_.push_back(answer->row);
        else if (answer->isBusy)
          elsewhere_.push_back(answer->row);
        else if (answer->exitCode == 0 || (!wasEnded && fs::exists(cohort_.rowFolder(answer->row) + runName)))
          take(*answer);
        else
          record(answer->row, *answer);
        if (!again)
          cohort_.claim(answer->row).release();
        running_.erase(answer->row);
      }
  }

  void take(const RowAnswer& answer)
  {
    if (answer.exitCode == 0)
      return tally_.addDone();
    if (answer.exitCode > 128)
      return; // interrupted
    addFailure(answer);
    log_.warning(cohort_.row(answer.row).id + ": " + answer.message);
    if (answer.exitCode == static_cast<int>(ExitCode::unwritableOutput)) {
      if (tally_.alikeInCode() > 1) // in one row alone something may stand where a result is to be
        stopForWantOfDisk();
    } else if (tally_.alike() >= alikeBeforeStop && !options_.noEarlyStop && !isStopping_) {
      isStopping_ = true;
      log_.error(std::to_string(alikeBeforeStop)
                 + " rows in succession failed alike, so no more are begun. Allowed: a table or parameter "
                   "files without this fault, or --no-early-stop.");
    }
  }

  void stopForWantOfDisk()
  {
    if (!isStopping_)
      log_.error("-out: results cannot be written, so no more rows are begun. Allowed: a folder that takes "
                 "them, on a disk with room, and the same command again.");
    isStopping_ = true;
    code_ = static_cast<int>(ExitCode::unwritableOutput);
  }

  void addFailure(const RowAnswer& answer) { tally_.addFailure(cohort_.row(answer.row).id, answer); }

  /// Rows in lanes end within five seconds, and keep their finished levels.
  void stopWorkers()
  {
    if (!stoppedAt_) {
      stoppedAt_ = Clock::now();
      for (const auto& worker : workers_)
        if (worker)
          worker->signal(SIGTERM);
      log_.info("Stopping: rows that run end now.");
    } else if (Clock::now() - *stoppedAt_ > std::chrono::seconds(4)) {
      for (const auto& worker : workers_)
        if (worker)
          worker->signal(SIGKILL);
    }
  }

  void touchClaims()
  {
    const auto now = Clock::now();
    if (now - lastTouch_ < std::chrono::milliseconds(std::clamp(options_.claimSeconds * 250, 250, 30000)))
      return;
    lastTouch_ = now;
    for (const auto& [index, bytes] : running_)
      cohort_.claim(index).touch();
    for (const std::size_t index : suspects_)
      cohort_.claim(index).touch();
  }

  void showProgress(bool isLast)
  {
    const std::string line = tally_.line(running_.size(), waiting_.size() + suspects_.size()
                                                              + elsewhere_.size() + running_.size());
    log_.progress(line);
    const auto now = Clock::now();
    if (isLast || now - lastLine_ > std::chrono::minutes(1)) {
      lastLine_ = now;
      log_.info(line + ".");
    }
  }

  int finish()
  {
    planner_.reset();
    for (auto& worker : workers_)
      worker.reset();
    showProgress(true);
    const bool hasCauses = writeFailures(cohort_.manifest(), cohort_.folder());
    if (stopAsked()) {
      log_.error("interrupted by signal " + std::to_string(caughtSignal())
                 + ": finished rows are kept. The same command goes on with the others.");
      return 128 + caughtSignal();
    }
    if (hasCauses && tally_.failed() > 0)
      log_.info("The causes are in " + cohort_.folder().file("failures.tsv") + ".");
    return code_ != 0 ? code_ : tally_.failed() == 0 ? 0 : static_cast<int>(ExitCode::someRowsFailed);
  }

  const CohortOptions& options_;
  Log& log_;
  OpenCohort cohort_;
  CohortTally tally_;
  std::deque<std::size_t> waiting_, suspects_; // suspects: tried once, to be tried alone
  std::vector<std::size_t> elsewhere_;         // claimed by other processes
  std::set<std::size_t> tried_;
  std::map<std::size_t, double> running_; // with the host memory that each may take
  std::vector<std::string> gpuOfWorker_;  // empty: a worker on the CPU
  std::vector<std::unique_ptr<RowWorker>> workers_;
  std::unique_ptr<RowWorker> planner_;
  int lanes_ = 1, threadsOfRow_ = 1, code_ = 0;
  double limit_ = 0;
  bool isStopping_ = false, isWaitTold_ = false;
  std::optional<Clock::time_point> stoppedAt_;
  Clock::time_point lastTouch_{}, lastLook_{}, lastLine_ = Clock::now();
};

}

int runCohort(const CohortOptions& options, Log& log)
{
  return Cohort(options, log).run();
}

}
