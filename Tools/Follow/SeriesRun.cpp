#include "Tools/Follow/SeriesRun.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Image/Files/ImageSource.h"
#include "Core/Image/Files/ImageStream.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Runs/Following/WhatWasRun.h"
#include "Tools/Common/Signals.h"
#include "Tools/Common/StoredMachine.h"
#include "Tools/Follow/Motion.h"
#include "Tools/Follow/UpdateFolder.h"
#include "Tools/Follow/UpdateLines.h"

#include <nlohmann/json.hpp>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <thread>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t volumesOfChain = 32; // fixed, so that results do not depend on the number of threads
constexpr int lanesOfGpu = 4;
constexpr float outside = -1e30F; // where a volume shows nothing, for the mean

/// What is kept of a volume.
struct VolumeResult {
  std::shared_ptr<const TransformChain<3>> chain; // null: none
  std::vector<std::byte> pixels;                  // on the grid of the reference
  std::string start, error;
  double correlation = 0, seconds = 0;
};

class SeriesRun {
public:
  SeriesRun(const Registry& registry, const FollowOptions& options, RunLog& log)
      : registry_(registry), options_(options), log_(log),
        header_(openImage(options.series, options.request.reading)->header())
  {
    std::vector<std::string> notes;
    volumes_ = readVolumes(options.series, options.request.reading, notes, options.request.threads);
    for (const std::string& note : notes)
      log.note("--series: " + note);
    header_ = withFirstAxes(header_, 4);
  }

  int run()
  {
    RunRequest request = options_.request;
    if (options_.reference != "fixed")
      request.fixed = {{"the reference", HeldImage<3>(volumes_.at(firstReference()))}};
    tellAboutParameters(request);
    if (options_.reference == "mean")
      request.fixed = {{"the mean", HeldImage<3>(meanOf(pass(forMean(request), PixelType::float32)))}};
    const std::vector<VolumeResult> results = pass(request, header_.componentType);
    writeSeries(results);
    writeMotion(request, results);
    const auto failed = std::ranges::count_if(results, [](const auto& one) { return !one.chain; });
    for (std::size_t i = 0; i < results.size(); ++i)
      tell(i, results[i]);
    if (failed == static_cast<std::ptrdiff_t>(results.size()))
      return static_cast<int>(ExitCode::unreadableInput);
    return static_cast<int>(failed == 0 ? ExitCode::done : ExitCode::someRowsFailed);
  }

private:
  std::size_t firstReference() const
  {
    if (options_.reference == "mean" || options_.reference == "first")
      return 0;
    const auto number = parseInteger(options_.reference);
    if (!number || *number < 0 || static_cast<std::size_t>(*number) >= volumes_.size())
      failCommandLine("--reference " + options_.reference, "no such volume",
                      "mean, first, fixed, or a number from 0 to " + std::to_string(volumes_.size() - 1));
    return static_cast<std::size_t>(*number);
  }

  /// The followers tell nothing: the reference itself, for one, moves nowhere.
  void tellAboutParameters(RunRequest request) const
  {
    request.moving = {{"volume 0", HeldImage<3>(volumes_.front())}};
    const Run<3> checked(registry_, request, log_);
  }

  static RunRequest forMean(RunRequest request)
  {
    StageText& last = request.stages.back();
    last.map = withValues(last.map, "DefaultPixelValue", {"-1e30"});
    return request;
  }

  /// Registers all volumes, chain by chain; resampled as this type.
  std::vector<VolumeResult> pass(RunRequest request, PixelType type)
  {
    StageText& last = request.stages.back();
    last.map = withValues(last.map, "WriteResultImage", {"true"});
    last.map = withValues(last.map, "ResultImagePixelType",
                          {pixelTypeName(type == PixelType::float64 ? PixelType::float32 : type)});
    std::vector<VolumeResult> results(volumes_.size());
    const std::size_t chains = (volumes_.size() + volumesOfChain - 1) / volumesOfChain;
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
            for (std::size_t chain = next++; chain < chains && !stopAsked(); chain = next++)
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
    Stop(stopAsked()).endIfAsked();
    return results;
  }

  void runChain(const RunRequest& request, std::size_t first, std::vector<VolumeResult>& results)
  {
    Log unread;
    const StoredMachine machine;
    Follower<3> follower(registry_, request, unread, machine);
    for (std::size_t i = first; i < std::min(first + volumesOfChain, volumes_.size()) && !stopAsked(); ++i) {
      VolumeResult& result = results[i];
      const auto start = std::chrono::steady_clock::now();
      try {
        FollowUpdate<3> update = follower.update({"volume " + std::to_string(i), HeldImage<3>(volumes_[i])});
        result.chain = update.result.chain;
        const auto bytes = update.result.image.bytes();
        result.pixels.assign(bytes.begin(), bytes.end());
        result.start = update.isCold ? "cold" : "warm";
        result.correlation = update.fit.correlation;
      } catch (const Error& error) {
        if (error.code() == ExitCode::usage)
          throw;
        result.error = error.what();
      }
      result.seconds = secondsSince(start);
    }
  }

  /// The mean of the volumes at each voxel, of those that show it: a border that only some show would be an
  /// edge.
  ImagePointer<3> meanOf(const std::vector<VolumeResult>& results) const
  {
    auto mean = std::make_shared<Image<3>>(*volumes_[firstReference()]);
    for (std::size_t v = 0; v < mean->voxels.size(); ++v) {
      double sum = 0, count = 0;
      for (const VolumeResult& result : results) {
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

  void writeSeries(const std::vector<VolumeResult>& results) const
  {
    ImageHeader header = header_;
    header.componentType =
        header.componentType == PixelType::float64 ? PixelType::float32 : header.componentType;
    if (options_.reference == "fixed") {
      const ImageHeader grid = readImageHeader(options_.request.fixed.front().path, options_.request.reading);
      for (std::size_t axis = 0; axis < 3; ++axis) {
        header.size[axis] = grid.size[axis];
        header.spacingMm[axis] = grid.spacingMm[axis];
        header.originMm[axis] = grid.originMm[axis];
        std::copy_n(grid.direction[axis].begin(), 3, header.direction[axis].begin());
      }
    }
    ImageStream stream(options_.outFolder + "series.nii.gz", header, true, options_.request.threads);
    const std::size_t bytes =
        header.size[0] * header.size[1] * header.size[2] * pixelTypeSize(header.componentType);
    const std::vector<std::byte> none(bytes);
    for (const VolumeResult& result : results)
      stream.write(result.pixels.empty() ? none : result.pixels);
    stream.commit();
  }

  void writeMotion(const RunRequest& request, const std::vector<VolumeResult>& results) const
  {
    const HeldImage<3>* const held = request.fixed.front().held<3>();
    const ImageGeometry<3> reference =
        held ? held->image->geometry
             : geometryOf<3>(readImageHeader(request.fixed.front().path, request.reading));
    std::vector<std::optional<VolumeMotion>> motions;
    for (const VolumeResult& result : results)
      motions.push_back(result.chain ? motionOf(*result.chain, reference) : std::nullopt);
    const std::string path = options_.outFolder + "motion.tsv";
    if (std::ranges::any_of(motions, [](const auto& motion) { return motion.has_value(); })) {
      writeTextFile(path, motionTable(motions, options_.order));
    } else {
      std::filesystem::remove(path); // of an earlier run
      log_.warning("--series: motion.tsv is not written, because no volume has a rigid transform.");
    }
    for (std::size_t i = 0; i < results.size() && options_.write == "all"; ++i)
      writeTransforms(i, results[i], reference);
  }

  void writeTransforms(std::size_t volume, const VolumeResult& result,
                       const ImageGeometry<3>& reference) const
  {
    std::vector<const TransformChain<3>*> links;
    for (const TransformChain<3>* link = result.chain.get(); link; link = link->initial.get())
      links.insert(links.begin(), link);
    TransformFileSource<3> source;
    source.fixed = reference;
    std::vector<std::string> warnings;
    for (std::size_t i = 0; i < links.size(); ++i) {
      const std::string path =
          options_.outFolder + "volume." + sixDigits(volume) + "." + std::to_string(i) + ".txt";
      source.chain = links[i];
      writeTextFile(path, transformFileText<3>(source, warnings), Sync::no);
      source.initialPath = path;
    }
  }

  void tell(std::size_t volume, const VolumeResult& result)
  {
    Json line{{"image", options_.series}, {"volume", volume}};
    if (result.chain)
      line.update(Json{{"start", result.start},
                       {"correlation", result.correlation},
                       {"seconds", {{"all", result.seconds}}}});
    else
      line["error"] = result.error;
    lines_.put(line);
    if (!result.chain)
      log_.error("--series: volume " + std::to_string(volume) + ": no result: " + result.error);
  }

  const Registry& registry_;
  const FollowOptions& options_;
  RunLog& log_;
  ImageHeader header_;
  std::vector<ImagePointer<3>> volumes_;
  UpdateLines lines_;
};

}

int registerSeries(const Registry& registry, const FollowOptions& options, RunLog& log)
{
  return SeriesRun(registry, options, log).run();
}

}
