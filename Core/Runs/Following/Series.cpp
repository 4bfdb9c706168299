#include "Core/Runs/Following/Series.h"

#include "Core/Image/Files/ImageFile.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Runs/Following/Follower.h"
#include "Core/Runs/Following/WhatWasRun.h"

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <thread>

namespace tessera {
namespace {

constexpr std::size_t volumesOfChain = 32; // fixed, so that results do not depend on the number of threads
constexpr int lanesOfGpu = 4;
constexpr float outside = -1e30F; // where a volume shows nothing, for the mean

/// The mean of volumes at each voxel, of those that show it: a border that only some show would be an edge.
template <int D>
class MeanOfVolumes {
public:
  explicit MeanOfVolumes(const ImageGeometry<D>& geometry)
      : geometry_(geometry), sums_(geometry.voxelCount()), counts_(sums_.size())
  {
  }

  void add(const VolumeResult<D>& result) // its pixels are floats
  {
    for (std::size_t v = 0; v < sums_.size() && result.chain; ++v) {
      float value;
      std::memcpy(&value, result.pixels.data() + v * sizeof value, sizeof value);
      if (value == outside)
        continue;
      sums_[v] += value;
      ++counts_[v];
    }
  }

  ImagePointer<D> image() const
  {
    auto mean = std::make_shared<Image<D>>(Image<D>{geometry_, std::vector<float>(sums_.size())});
    for (std::size_t v = 0; v < sums_.size(); ++v)
      if (counts_[v] > 0)
        mean->voxels[v] = static_cast<float>(sums_[v] / counts_[v]);
    return mean;
  }

private:
  const ImageGeometry<D> geometry_;
  std::vector<double> sums_;
  std::vector<std::uint32_t> counts_;
};

/// Registers all volumes once, chain by chain.
template <int D>
class SeriesPass {
public:
  using Take = std::function<void(std::size_t volume, VolumeResult<D>)>;

  SeriesPass(const Registry& registry, const SeriesRequest<D>& asked, const Machine& machine, Stop stop,
             std::size_t number)
      : registry_(registry), asked_(asked), machine_(machine), stop_(stop), number_(number)
  {
  }

  /// Resampled as this type.
  void run(RunRequest request, PixelType type, std::size_t voxels, const Take& take)
  {
    StageText& last = request.stages.back();
    last.map = withValues(last.map, "WriteResultImage", {"true"});
    last.map = withValues(last.map, "ResultImagePixelType", {pixelTypeName(type)});
    const bool mayBeOnGpu = request.device != "cpu";
    const auto threads =
        static_cast<std::size_t>(mayBeOnGpu ? std::min(lanesOfGpu, request.threads) : request.threads);
    const double bytesOfChain = static_cast<double>(volumesOfChain * voxels)
                                * static_cast<double>(sizeof(float) + pixelTypeSize(type));
    lanes_ = std::max<std::size_t>(
        1, std::min({chains_, threads, static_cast<std::size_t>(bytesOfSeries / bytesOfChain)}));
    request.threads = std::max(1, request.threads / static_cast<int>(lanes_));
    request.threadSource = "-threads";
    {
      std::vector<std::jthread> workers;
      for (std::size_t lane = 0; lane < lanes_; ++lane)
        workers.emplace_back([&] {
          try {
            while (std::optional<Chain> chain = nextChain())
              runChain(request, *chain, take);
          } catch (...) {
            const std::scoped_lock lock(ofReading_, ofTurn_);
            failure_ = std::current_exception();
            next_ = chains_; // nobody would take what the other lanes find
            turned_.notify_all();
          }
        });
    }
    if (failure_)
      std::rethrow_exception(failure_);
  }

private:
  struct Chain {
    std::size_t number;
    std::vector<HeldImage<D>> volumes; // empty: they are read one by one, by the only lane

    std::size_t first() const { return number * volumesOfChain; }
  };

  std::size_t endOf(const Chain& chain) const
  {
    return std::min(chain.first() + volumesOfChain, asked_.volumes);
  }

  /// Volumes are read in their order, and several lanes begin at different ones.
  std::optional<Chain> nextChain()
  {
    const std::lock_guard lock(ofReading_);
    if (next_ == chains_)
      return {};
    Chain chain{next_++, {}};
    for (std::size_t i = chain.first(); i < endOf(chain) && lanes_ > 1; ++i)
      chain.volumes.push_back(asked_.read(i));
    return chain;
  }

  void runChain(const RunRequest& request, Chain& chain, const Take& take)
  {
    Log unread;
    Follower<D> follower(registry_, request, unread, machine_);
    std::vector<VolumeResult<D>> results;
    for (std::size_t i = chain.first(); i < endOf(chain); ++i) {
      stop_.endIfAsked();
      const HeldImage<D> volume =
          chain.volumes.empty() ? asked_.read(i) : std::move(chain.volumes[i - chain.first()]);
      results.push_back(registered(follower, i, volume));
      if (asked_.progress)
        asked_.progress(number_, asked_.reference == "mean" ? 2 : 1, ++done_);
      if (lanes_ == 1)
        take(i, std::move(results.back()));
    }
    if (lanes_ == 1)
      return;
    std::unique_lock lock(ofTurn_);
    turned_.wait(lock, [&] { return turn_ == chain.number || failure_; });
    for (std::size_t i = chain.first(); i < endOf(chain) && !failure_; ++i)
      take(i, std::move(results[i - chain.first()]));
    ++turn_;
    turned_.notify_all();
  }

  VolumeResult<D> registered(Follower<D>& follower, std::size_t i, const HeldImage<D>& volume)
  {
    RunListener<D> nobody;
    VolumeResult<D> result;
    const auto start = std::chrono::steady_clock::now();
    try {
      const FollowUpdate<D> update =
          follower.update({"volume " + std::to_string(i), volume}, nobody, Deadline::max(), stop_);
      result.chain = update.result.chain;
      const auto bytes = update.result.image.bytes();
      result.pixels.assign(bytes.begin(), bytes.end());
      result.isCold = update.isCold;
      result.correlation = update.fit.correlation;
      result.device = update.device;
    } catch (const Error& error) {
      if (error.code() == ExitCode::usage)
        throw;
      result.error = error.what();
    }
    result.seconds = secondsSince(start);
    return result;
  }

  const Registry& registry_;
  const SeriesRequest<D>& asked_;
  const Machine& machine_;
  const Stop stop_;
  const std::size_t number_, chains_ = (asked_.volumes + volumesOfChain - 1) / volumesOfChain;
  std::size_t lanes_ = 1;
  std::mutex ofReading_, ofTurn_;
  std::size_t next_ = 0; // chain to be read
  std::size_t turn_ = 0; // the chain whose results are taken next
  std::condition_variable turned_;
  std::exception_ptr failure_;
  std::atomic<std::size_t> done_{0}; // volumes
};

template <int D>
std::size_t firstReference(const SeriesRequest<D>& asked)
{
  if (asked.reference == "mean" || asked.reference == "first")
    return 0;
  const auto number = parseInteger(asked.reference);
  if (!number || *number < 0 || static_cast<std::size_t>(*number) >= asked.volumes)
    throw Error(ExitCode::usage, "command line: --reference " + asked.reference
                                     + ": no such volume. Allowed: mean, first, fixed, or a number from 0 to "
                                     + std::to_string(asked.volumes - 1) + ".");
  return static_cast<std::size_t>(*number);
}

}

template <int D>
void registerSeries(const Registry& registry, const SeriesRequest<D>& asked, const TakeVolume<D>& take,
                    Log& log, const Machine& machine, Stop stop)
{
  RunRequest request = asked.run;
  request.measuresResult = false;
  if (asked.reference != "fixed")
    request.fixed = {{"the reference", asked.read(firstReference(asked))}};
  { // Followers tell nothing about parameters, which are the same for all of them.
    RunRequest first = request;
    first.moving = {{"volume 0", asked.read(0)}};
    const Run<D> checked(registry, first, log);
  }
  const GivenImage& fixed = request.fixed.front();
  const HeldImage<D>* const held = fixed.held<D>();
  const ImageGeometry<D> reference =
      held ? held->image->geometry : geometryOf<D>(readImageHeader(fixed.path, request.reading));
  std::size_t pass = 0;
  if (asked.reference == "mean") {
    MeanOfVolumes<D> mean(reference);
    RunRequest forMean = request;
    StageText& last = forMean.stages.back();
    last.map = withValues(last.map, "DefaultPixelValue", {"-1e30"});
    SeriesPass<D>(registry, asked, machine, stop, pass++)
        .run(std::move(forMean), PixelType::float32, reference.voxelCount(),
             [&](std::size_t, const VolumeResult<D>& result) { mean.add(result); });
    request.fixed = {{"the mean", HeldImage<D>(mean.image())}};
  }
  SeriesPass<D>(registry, asked, machine, stop, pass)
      .run(request, asked.type, reference.voxelCount(),
           [&](std::size_t volume, VolumeResult<D> result) { take(reference, volume, std::move(result)); });
}

TESSERA_INSTANTIATE_FUNCTIONS(registerSeries<D>);

}
