#include "Core/Runs/Following/Series.h"

#include "Core/Image/Files/ImageFile.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Runs/Following/Follower.h"
#include "Core/Runs/Following/WhatWasRun.h"

#include <atomic>
#include <cstring>
#include <thread>

namespace tessera {
namespace {

constexpr std::size_t volumesOfChain = 32; // fixed, so that results do not depend on the number of threads
constexpr int lanesOfGpu = 4;
constexpr float outside = -1e30F; // where a volume shows nothing, for the mean

template <int D>
class SeriesPasses {
public:
  SeriesPasses(const Registry& registry, const SeriesRequest<D>& asked, const Machine& machine, Stop stop)
      : registry_(registry), asked_(asked), machine_(machine), stop_(stop)
  {
  }

  SeriesResult<D> run(Log& log)
  {
    RunRequest request = asked_.run;
    if (asked_.reference != "fixed")
      request.fixed = {{"the reference", asked_.volumes.at(firstReference())}};
    tellAboutParameters(request, log);
    if (asked_.reference == "mean") {
      request.fixed = {{"the mean", HeldImage<D>(meanOf(pass(forMean(request), PixelType::float32)))}};
      ++pass_;
    }
    return {geometryOfFixed(request), pass(request, asked_.type)};
  }

private:
  std::size_t firstReference() const
  {
    if (asked_.reference == "mean" || asked_.reference == "first")
      return 0;
    const auto number = parseInteger(asked_.reference);
    if (!number || *number < 0 || static_cast<std::size_t>(*number) >= asked_.volumes.size())
      throw Error(ExitCode::usage,
                  "command line: --reference " + asked_.reference
                      + ": no such volume. Allowed: mean, first, fixed, or a number from 0 to "
                      + std::to_string(asked_.volumes.size() - 1) + ".");
    return static_cast<std::size_t>(*number);
  }

  static ImageGeometry<D> geometryOfFixed(const RunRequest& request)
  {
    const GivenImage& fixed = request.fixed.front();
    const HeldImage<D>* const held = fixed.held<D>();
    return held ? held->image->geometry : geometryOf<D>(readImageHeader(fixed.path, request.reading));
  }

  /// The followers tell nothing: the reference itself, for one, moves nowhere.
  void tellAboutParameters(RunRequest request, Log& log) const
  {
    request.moving = {{"volume 0", asked_.volumes.front()}};
    const Run<D> checked(registry_, request, log);
  }

  static RunRequest forMean(RunRequest request)
  {
    StageText& last = request.stages.back();
    last.map = withValues(last.map, "DefaultPixelValue", {"-1e30"});
    return request;
  }

  /// Registers all volumes, chain by chain; resampled as this type.
  std::vector<VolumeResult<D>> pass(RunRequest request, PixelType type)
  {
    StageText& last = request.stages.back();
    last.map = withValues(last.map, "WriteResultImage", {"true"});
    last.map = withValues(last.map, "ResultImagePixelType", {pixelTypeName(type)});
    std::vector<VolumeResult<D>> results(asked_.volumes.size());
    done_ = 0;
    const std::size_t chains = (results.size() + volumesOfChain - 1) / volumesOfChain;
    const bool mayBeOnGpu = request.device != "cpu";
    const std::size_t lanes = std::min<std::size_t>(
        chains,
        static_cast<std::size_t>(mayBeOnGpu ? std::min(lanesOfGpu, request.threads) : request.threads));
    request.threads = std::max(1, request.threads / static_cast<int>(lanes));
    request.threadSource = "-threads";
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex ofFailure;
    {
      std::vector<std::jthread> workers;
      for (std::size_t lane = 0; lane < lanes; ++lane)
        workers.emplace_back([&] {
          try {
            for (std::size_t chain = next++; chain < chains; chain = next++)
              runChain(request, chain * volumesOfChain, results);
          } catch (...) {
            const std::lock_guard lock(ofFailure);
            failure = std::current_exception();
            next = chains;
          }
        });
    }
    if (failure)
      std::rethrow_exception(failure);
    return results;
  }

  void runChain(const RunRequest& request, std::size_t first, std::vector<VolumeResult<D>>& results)
  {
    Log unread;
    RunListener<D> nobody;
    Follower<D> follower(registry_, request, unread, machine_);
    for (std::size_t i = first; i < std::min(first + volumesOfChain, results.size()); ++i) {
      stop_.endIfAsked();
      VolumeResult<D>& result = results[i];
      const auto start = std::chrono::steady_clock::now();
      try {
        const GivenImage volume{"volume " + std::to_string(i), asked_.volumes[i]};
        FollowUpdate<D> update = follower.update(volume, nobody, Deadline::max(), stop_);
        result.chain = update.result.chain;
        const auto bytes = update.result.image.bytes();
        result.pixels.assign(bytes.begin(), bytes.end());
        result.isCold = update.isCold;
        result.correlation = update.fit.correlation;
      } catch (const Error& error) {
        if (error.code() == ExitCode::usage)
          throw;
        result.error = error.what();
      }
      result.seconds = secondsSince(start);
      if (asked_.progress)
        asked_.progress(pass_, asked_.reference == "mean" ? 2 : 1, ++done_);
    }
  }

  /// The mean of the volumes at each voxel, of those that show it: a border that only some show would be an
  /// edge.
  ImagePointer<D> meanOf(const std::vector<VolumeResult<D>>& results) const
  {
    auto mean = std::make_shared<Image<D>>(*asked_.volumes[firstReference()].image);
    for (std::size_t v = 0; v < mean->voxels.size(); ++v) {
      double sum = 0, count = 0;
      for (const VolumeResult<D>& result : results) {
        float value = outside;
        if (result.chain)
          std::memcpy(&value, result.pixels.data() + v * sizeof value, sizeof value);
        if (value != outside) {
          sum += value;
          ++count;
        }
      }
      mean->voxels[v] = count > 0 ? static_cast<float>(sum / count) : 0;
    }
    return mean;
  }

  const Registry& registry_;
  const SeriesRequest<D>& asked_;
  const Machine& machine_;
  const Stop stop_;
  std::size_t pass_ = 0;
  std::atomic<std::size_t> done_{0}; // volumes of this pass
};

}

template <int D>
SeriesResult<D> registerSeries(const Registry& registry, const SeriesRequest<D>& asked, Log& log,
                               const Machine& machine, Stop stop)
{
  return SeriesPasses<D>(registry, asked, machine, stop).run(log);
}

TESSERA_INSTANTIATE_FUNCTIONS(registerSeries<D>);

}
