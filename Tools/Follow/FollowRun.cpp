#include "Tools/Follow/FollowRun.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/Files/TextFile.h"
#include "Core/Image/Points/PointsFile.h"
#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Core/Runs/Following/WhatWasRun.h"
#include "Core/Runs/OutputNames.h"
#include "Core/Runs/RunRecord.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/RunFolder.h"
#include "Tools/Common/Signals.h"
#include "Tools/Common/StoredMachine.h"
#include "Tools/Follow/Arrivals.h"
#include "Tools/Follow/FolderWatch.h"
#include "Tools/Follow/UpdateFolder.h"
#include "Tools/Follow/UpdateLines.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <thread>

#include <unistd.h>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;
constexpr const char* stateName = "follow.json";

/// What a program that is started again goes on from.
struct State {
  std::string key, transform; // of all that decides results; the last one, empty: none
  std::size_t updates = 0;    // how many numbers are taken
  std::size_t first = 0;      // the first one of ours: folders with smaller ones were there before
  FitOfImages fit{};          // overlap and correlation of the last one
};

std::string keyOf(const FollowOptions& options)
{
  std::vector<InputDigest> digests;
  for (const RunInput& input : runInputsOf(options.request))
    digests.push_back(digestOf(input));
  return runKey(digests, options.request.reading, projectVersion() + " " + options.request.device);
}

State readState(const std::string& folder)
{
  const Json json = Json::parse(readTextFile(folder + stateName).text, nullptr, false);
  try {
    if (!json.at("updates").is_number_unsigned() || !json.at("first").is_number_unsigned())
      return {};
    State state{json.at("key"), json.at("transform"), json.at("updates"), json.at("first"), {}};
    state.fit.overlap = json.at("overlap");
    state.fit.correlation = json.at("correlation");
    return state;
  } catch (const Json::exception&) { // none, or a damaged one
    return {};
  }
}

/// The largest number of a folder that is there, and one: a state may be older than the folders. Removes what
/// a program that was killed left in them, and those that it left empty.
std::size_t numbersTaken(const std::string& folder)
{
  std::size_t taken = 0;
  std::error_code failure;
  for (std::filesystem::directory_iterator entry(folder, failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const std::string name = entry->path().filename();
    if (name.size() != 6 || name.find_first_not_of("0123456789") != std::string::npos)
      continue;
    AtomicFile::removeAbandoned(entry->path());
    if (rmdir(entry->path().c_str()) != 0)
      taken = std::max(taken, static_cast<std::size_t>(std::stoul(name)) + 1);
  }
  return taken;
}

double epochSeconds()
{
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

template <int D>
class FollowRun {
public:
  FollowRun(const Registry& registry, const FollowOptions& options, RunLog& log)
      : registry_(registry), options_(options), log_(log), planPointsMm_(planPointsOf(options)),
        follower_(registry, requestOf(options), log, machine_)
  {
    goOn();
  }

  int run()
  {
    Arrivals arrivals;
    std::unique_ptr<FolderWatch> folder;
    if (!options_.watched.empty())
      folder =
          std::make_unique<FolderWatch>(options_.watched, options_.existing, options_.request.reading, log_);
    std::jthread finder([&](const std::stop_token& stop) {
      folder ? folder->watch(arrivals, stop) : readNames(arrivals, stop);
    });
    while (const std::optional<Arrival> image = next(arrivals))
      take(*image);
    finder.request_stop();
    finder.join();
    next(arrivals); // what came since then
    if (updates_ + failures_ + passed_ == 0)
      log_.error("no image came, so nothing was registered. Allowed: one or more by --names or --watch.");
    if (updates_ == 0)
      return static_cast<int>(ExitCode::unreadableInput);
    return static_cast<int>(failures_ + passed_ == 0 ? ExitCode::done : ExitCode::someRowsFailed);
  }

private:
  std::optional<Arrival> next(Arrivals& arrivals)
  {
    std::vector<Arrival> passed;
    std::optional<Arrival> image = arrivals.next(options_.every, passed);
    for (const Arrival& other : passed)
      lines_.put({{"image", other.path}, {"passed", true}});
    passed_ += passed.size();
    return image;
  }

  static RunRequest requestOf(const FollowOptions& options)
  {
    RunRequest request = options.request;
    for (StageText& stage : request.stages) {
      const bool writes = options.writesImages && &stage == &request.stages.back();
      stage.map = withValues(stage.map, "WriteResultImage", {writes ? "true" : "false"});
    }
    return request;
  }

  static std::vector<Vec<D>> planPointsOf(const FollowOptions& options)
  {
    if (options.planPoints.empty())
      return {};
    const RunRequest& request = options.request;
    return pointsInMm<D>(readPoints<D>(options.planPoints),
                         geometryOf<D>(readImageHeader(request.fixed.front().path, request.reading)));
  }

  void goOn()
  {
    state_ = readState(options_.outFolder);
    const std::string key = keyOf(options_), found = std::exchange(state_.transform, "");
    const std::size_t taken = numbersTaken(options_.outFolder);
    if (state_.updates == 0)
      state_.first = taken;
    else if (taken > state_.updates)
      log_.warning("-out: " + options_.outFolder + sixDigits(taken - 1)
                   + ": its update did not end, so files may be missing there.");
    state_.updates = std::max(state_.updates, taken);
    const std::string keyBefore = std::exchange(state_.key, key), stateFile = options_.outFolder + stateName;
    const bool isSame = key == keyBefore, isThere = std::filesystem::exists(found),
               isDamaged = keyBefore.empty() && std::filesystem::exists(stateFile);
    if (isSame && isThere)
      state_.transform = found;
    else if (isDamaged || !found.empty())
      log_.warning("-out: " + stateFile + ": "
                   + (isDamaged ? "damaged, or of another version"
                      : isSame  ? "its last transform, " + found + ", is not there"
                                : "of another fixed image, other parameters or another version")
                   + ": the first update begins anew.");
    const std::string start = state_.transform.empty() ? options_.startAt : state_.transform;
    if (start.empty())
      return;
    follower_.setLast(readTransformChain<D>({Device{}, options_.request.threads}, start, registry_, {}),
                      state_.transform.empty() ? std::nullopt : std::optional(state_.fit));
    log_.note("goes on from " + start + ".");
  }

  void take(const Arrival& image)
  {
    const std::size_t number = state_.updates;
    Json line{
        {"image", image.path}, {"update", number}, {"arrived", epochSeconds() - secondsSince(image.time)}};
    try {
      update(image, number, line);
      ++updates_;
    } catch (const Error& error) {
      std::error_code ignored;
      std::filesystem::remove_all(options_.outFolder + sixDigits(number), ignored);
      if (error.code() == ExitCode::unwritableOutput || error.code() == ExitCode::usage)
        throw;
      ++failures_;
      log_.error(image.path + ": no update: " + error.what());
      line.update(Json{{"error", error.what()}, {"exitCode", static_cast<int>(error.code())}});
    }
    lines_.put(line);
  }

  void update(const Arrival& image, std::size_t number, Json& line)
  {
    const double waited = secondsSince(image.time);
    const bool writes = options_.write != "none";
    std::optional<UpdateFolder<D>> folder;
    RunListener<D> nobody;
    if (writes)
      folder.emplace(registry_, options_, number, log_);
    const Deadline deadline = options_.limit ? image.time + *options_.limit : Deadline::max();
    const FollowUpdate<D> found =
        follower_.update({image.path}, folder ? static_cast<RunListener<D>&>(*folder) : nobody, deadline);
    state_.updates = number + 1;
    state_.fit = found.fit;
    if (folder) {
      folder->writeRest(found, planPointsMm_);
      state_.transform = std::filesystem::absolute(folder->lastTransform());
      writeTextFile(options_.outFolder + stateName,
                    Json{{"key", state_.key},
                         {"transform", state_.transform},
                         {"updates", state_.updates},
                         {"first", state_.first},
                         {"overlap", state_.fit.overlap},
                         {"correlation", state_.fit.correlation}}
                            .dump(2)
                        + "\n",
                    Sync::no);
      removeOld(number);
      line["folder"] = folder->path();
    }
    tell(found, line);
    line["seconds"] = {{"waiting", waited},
                       {"reading", found.readingSeconds},
                       {"looking", found.lookingSeconds},
                       {"registering", found.registeringSeconds},
                       {"preparing", found.preparingSeconds},
                       {"levels", found.levelsSeconds},
                       {"all", secondsSince(image.time)}};
  }

  static void tell(const FollowUpdate<D>& found, Json& line)
  {
    line.update(Json{{"start", found.isCold ? "cold" : "warm"},
                     {"why", found.why},
                     {"firstLevels", found.levels},
                     {"endedInTime", found.endedInTime},
                     {"metric", found.metric},
                     {"overlap", found.fit.overlap},
                     {"correlation", found.fit.correlation},
                     {"folded", found.fit.folded},
                     {"leftMm", found.before.leftMm},
                     {"displacementMm",
                      {{"mean", found.fit.meanDisplacementMm}, {"largest", found.fit.largestDisplacementMm}}},
                     {"warnings", found.warnings}});
  }

  /// The state names the newest folder already.
  void removeOld(std::size_t number) const
  {
    const std::size_t kept = options_.write == "last" ? 1 : options_.keep.value_or(number + 1);
    std::error_code ignored;
    for (std::size_t old = number + 1 - std::min(number + 1, kept); old-- > state_.first;)
      if (std::filesystem::remove_all(options_.outFolder + sixDigits(old), ignored) == 0)
        return; // what is older has gone before
  }

  const Registry& registry_;
  const FollowOptions& options_;
  RunLog& log_;
  const StoredMachine machine_;
  const std::vector<Vec<D>> planPointsMm_;
  Follower<D> follower_;
  State state_;
  UpdateLines lines_;
  std::size_t updates_ = 0, failures_ = 0, passed_ = 0;
};

}

int followImages(const Registry& registry, const FollowOptions& options, RunLog& log)
{
  RunRequest fixedAlone = options.request;
  fixedAlone.moving = fixedAlone.fixed;
  Log unread;
  const int dimension = readHeaders(fixedAlone, unread).dimension();
  return dimension == 2 ? FollowRun<2>(registry, options, log).run()
                        : FollowRun<3>(registry, options, log).run();
}

}
