#include "Tools/Register/SeriesRun.h"

#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/ImageSource.h"
#include "Core/Image/Files/ImageStream.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Image/Slices/VolumeReader.h"
#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Core/Runs/Following/Series.h"
#include "Core/Runs/Following/SeriesPage.h"
#include "Tools/Common/RunFolder.h"
#include "Tools/Common/StoredMachine.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

template <int D>
class SeriesRun {
public:
  SeriesRun(const Registry& registry, const SeriesOptions& options, const TellVolume& tell, Log& log)
      : registry_(registry), options_(options), tell_(tell), log_(log),
        volumes_(options.file, options.request.reading, options.request.threads), header_(volumes_.header())
  {
    for (const std::string& note : volumes_.notes())
      log_.note("--series: " + note);
    if (header_.componentType == PixelType::float64) // voxels are read as floats
      header_.componentType = PixelType::float32;
  }

  SeriesOutcome run(Stop stop)
  {
    const auto read = [this](std::size_t volume) {
      return HeldImage<D>(volumes_.read(volume, options_.request.threads));
    };
    const SeriesRequest<D> asked{options_.request, volumes_.volumes(), read, header_.componentType,
                                 options_.reference};
    registerSeries<D>(
        registry_, asked,
        [this](const ImageGeometry<D>& reference, std::size_t volume, VolumeResult<D> result) {
          take(reference, volume, std::move(result));
        },
        log_, StoredMachine{}, stop);
    removeOld();
    stream_->commit();
    outcome_.files.push_back(seriesPath());
    writeMotion();
    if (!options_.pageName.empty())
      writePage();
    SeriesFigures& figures = outcome_.figures;
    figures.volumes = motions_.size();
    figures.correlation /= static_cast<double>(std::max<std::size_t>(1, figures.volumes - figures.failed));
    figures.framewiseDisplacementMm = meanDisplacementMm();
    return std::move(outcome_);
  }

private:
  std::string seriesPath() const { return options_.outFolder + "series.nii.gz"; }

  void take(const ImageGeometry<D>& reference, std::size_t volume, VolumeResult<D> result)
  {
    if (!stream_)
      open(reference);
    if (result.pixels.empty())
      result.pixels.resize(reference.voxelCount() * pixelTypeSize(header_.componentType));
    stream_->write(result.pixels);
    hasResult_.push_back(result.chain != nullptr);
    motions_.push_back(motionOf<D>(result.chain.get(), reference));
    outcome_.figures.correlation += result.correlation;
    if (options_.writesTransforms)
      chains_.push_back(result.chain);
    Json line{{"image", options_.file}, {"volume", volume}};
    if (result.chain) {
      outcome_.device = result.device;
      line.update(Json{{"start", result.isCold ? "cold" : "warm"},
                       {"correlation", result.correlation},
                       {"seconds", {{"all", result.seconds}}}});
    } else {
      if (++outcome_.figures.failed == 1)
        outcome_.firstFailure = "volume " + std::to_string(volume) + ": " + result.error;
      line["error"] = result.error;
      log_.error("--series: volume " + std::to_string(volume) + ": no result: " + result.error);
    }
    if (tell_)
      tell_(line);
  }

  void open(const ImageGeometry<D>& reference)
  {
    reference_ = reference;
    ImageHeader header = header_;
    for (std::size_t axis = 0; axis < D && options_.reference == "fixed"; ++axis) {
      header.size[axis] = reference.size[axis];
      header.spacingMm[axis] = reference.spacingMm[axis];
      header.originMm[axis] = reference.originMm[axis];
      std::ranges::copy(reference.direction[axis], header.direction[axis].begin());
    }
    stream_.emplace(seriesPath(), header, true, options_.request.threads);
  }

  /// Removes what an earlier run left here and this one may not write.
  void removeOld() const
  {
    namespace fs = std::filesystem;
    for (const std::string name : {"series.html", "motion.tsv"})
      fs::remove(options_.outFolder + name);
    std::vector<fs::path> old;
    for (const fs::directory_entry& file : fs::directory_iterator(options_.outFolder))
      if (const std::string name = file.path().filename();
          name.starts_with("volume.") && name.ends_with(".txt"))
        old.push_back(file.path());
    for (const fs::path& path : old)
      fs::remove(path);
  }

  void write(const std::string& name, const std::string& text, Sync sync = Sync::yes)
  {
    outcome_.files.push_back(options_.outFolder + name);
    writeTextFile(outcome_.files.back(), text, sync);
  }

  void writeMotion()
  {
    if (std::ranges::any_of(motions_, [](const auto& motion) { return motion.has_value(); }))
      write("motion.tsv", motionTable(motions_, options_.order));
    else
      log_.note("--series: motion.tsv is not written, because no volume has a rigid transform.");
    for (std::size_t i = 0; i < chains_.size(); ++i)
      writeTransforms(i);
  }

  std::optional<double> meanDisplacementMm() const
  {
    double sum = 0, count = 0;
    for (std::size_t i = 1; i < motions_.size(); ++i)
      if (motions_[i - 1] && motions_[i]) {
        sum += displacementOfPower(*motions_[i - 1], *motions_[i]);
        ++count;
      }
    return count > 0 ? std::optional(sum / count) : std::nullopt;
  }

  void writeTransforms(std::size_t volume)
  {
    std::vector<const TransformChain<D>*> links;
    for (const TransformChain<D>* link = chains_[volume].get(); link; link = link->initial.get())
      links.insert(links.begin(), link);
    TransformFileSource<D> source;
    source.fixed = reference_;
    std::vector<std::string> warnings;
    for (std::size_t i = 0; i < links.size(); ++i) {
      source.chain = links[i];
      write("volume." + sixDigits(volume) + "." + std::to_string(i) + ".txt",
            transformFileText<D>(source, warnings), Sync::no);
      source.initialPath = outcome_.files.back();
    }
  }

  void writePage()
  {
    const int threads = options_.request.threads;
    VolumeReader<D> written(seriesPath(), {}, threads);
    ImagePointer<D> shown;
    const auto valuesOf = [&](VolumeReader<D>& volumes) -> VolumeValues {
      return [&shown, &volumes, threads](std::size_t volume) {
        shown = volumes.read(volume, threads);
        return std::span<const float>(shown->voxels);
      };
    };
    write(options_.pageName, seriesPage<D>({std::filesystem::path(options_.file).filename().string(),
                                            options_.reference, hasResult_, motions_, volumes_.geometry(),
                                            reference_, valuesOf(volumes_), valuesOf(written)}));
  }

  const Registry& registry_;
  const SeriesOptions& options_;
  const TellVolume& tell_;
  Log& log_;
  VolumeReader<D> volumes_;
  ImageHeader header_;
  ImageGeometry<D> reference_;
  std::optional<ImageStream> stream_;
  std::vector<bool> hasResult_;
  std::vector<std::optional<VolumeMotion>> motions_;
  std::vector<ChainPointer<D>> chains_; // if transforms are written
  SeriesOutcome outcome_;
};

}

SeriesOutcome runSeries(const Registry& registry, const SeriesOptions& options, const TellVolume& tell,
                        Log& log, Stop stop)
{
  const int axes = readImageHeader(options.file, options.request.reading).dimension;
  if (axes != (options.lastAxisIsTime ? 3 : 4))
    failToRead(options.file, std::to_string(axes) + " axes",
               options.lastAxisIsTime ? "3 axes, of which the last one is time"
                                      : "4 axes, or with --time-axis 3 of which the last one is time");
  return options.lastAxisIsTime ? SeriesRun<2>(registry, options, tell, log).run(stop)
                                : SeriesRun<3>(registry, options, tell, log).run(stop);
}

}
