#include "Tools/Follow/SeriesRun.h"

#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/ImageSource.h"
#include "Core/Image/Files/ImageStream.h"
#include "Core/Image/Files/InputError.h"
#include "Core/Runs/Following/SeriesPage.h"
#include "Core/Runs/Following/VolumeMotion.h"
#include "Tools/Common/StoredMachine.h"
#include "Tools/Follow/UpdateFolder.h"
#include "Tools/Follow/UpdateLines.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

template <int D>
class SeriesRun {
public:
  SeriesRun(const Registry& registry, const FollowOptions& options, RunLog& log)
      : registry_(registry), options_(options), log_(log),
        header_(openImage(options.series, options.request.reading)->header())
  {
    if (D == 3 && header_.dimension == 3)
      failToRead(options.series, "3 axes", "4 axes, or with --time-axis 3 of which the last one is time");
    if (header_.componentType == PixelType::float64) // voxels are read as floats
      header_.componentType = PixelType::float32;
  }

  int run()
  {
    std::vector<std::string> notes;
    const RunRequest& request = options_.request;
    const auto volumes = readVolumes<D>(options_.series, request.reading, notes, request.threads);
    const SeriesRequest<D> asked{
        request, {volumes.begin(), volumes.end()}, header_.componentType, options_.reference};
    for (const std::string& note : notes)
      log_.note("--series: " + note);
    header_ = withFirstAxes(header_, D + 1);
    const SeriesResult<D> found = registerSeries<D>(registry_, asked, log_, StoredMachine{});
    removeOld();
    writeSeries(found);
    writeMotion(found);
    if (options_.hasPage)
      writeTextFile(options_.outFolder + "series.html",
                    seriesPage<D>(std::filesystem::path(options_.series).filename().string(), asked, found));
    std::size_t failed = 0;
    for (std::size_t i = 0; i < found.volumes.size(); ++i) {
      failed += !found.volumes[i].chain;
      tell(i, found.volumes[i]);
    }
    return static_cast<int>(failed == found.volumes.size() ? ExitCode::unreadableInput
                            : failed == 0                  ? ExitCode::done
                                                           : ExitCode::someRowsFailed);
  }

private:
  /// Removes what an earlier run left here and this one may not write.
  void removeOld() const
  {
    namespace fs = std::filesystem;
    for (const char* name : {"series.html", "motion.tsv"})
      fs::remove(options_.outFolder + name);
    std::vector<fs::path> old;
    for (const fs::directory_entry& file : fs::directory_iterator(options_.outFolder))
      if (const std::string name = file.path().filename();
          name.starts_with("volume.") && name.ends_with(".txt"))
        old.push_back(file.path());
    for (const fs::path& path : old)
      fs::remove(path);
  }

  void writeSeries(const SeriesResult<D>& found) const
  {
    ImageHeader header = header_;
    for (std::size_t axis = 0; axis < D && options_.reference == "fixed"; ++axis) {
      header.size[axis] = found.reference.size[axis];
      header.spacingMm[axis] = found.reference.spacingMm[axis];
      header.originMm[axis] = found.reference.originMm[axis];
      std::ranges::copy(found.reference.direction[axis], header.direction[axis].begin());
    }
    ImageStream stream(options_.outFolder + "series.nii.gz", header, true, options_.request.threads);
    const std::size_t bytes = found.reference.voxelCount() * pixelTypeSize(header.componentType);
    const std::vector<std::byte> none(bytes);
    for (const VolumeResult<D>& result : found.volumes)
      stream.write(result.pixels.empty() ? none : result.pixels);
    stream.commit();
  }

  void writeMotion(const SeriesResult<D>& found) const
  {
    const std::vector<std::optional<VolumeMotion>> motions = motionsOf<D>(found);
    const std::string path = options_.outFolder + "motion.tsv";
    if (std::ranges::any_of(motions, [](const auto& motion) { return motion.has_value(); }))
      writeTextFile(path, motionTable(motions, options_.order));
    else
      log_.warning("--series: motion.tsv is not written, because no volume has a rigid transform.");
    for (std::size_t i = 0; i < found.volumes.size() && options_.write == "all"; ++i)
      writeTransforms(i, found.volumes[i], found.reference);
  }

  void writeTransforms(std::size_t volume, const VolumeResult<D>& result,
                       const ImageGeometry<D>& reference) const
  {
    std::vector<const TransformChain<D>*> links;
    for (const TransformChain<D>* link = result.chain.get(); link; link = link->initial.get())
      links.insert(links.begin(), link);
    TransformFileSource<D> source;
    source.fixed = reference;
    std::vector<std::string> warnings;
    for (std::size_t i = 0; i < links.size(); ++i) {
      const std::string path =
          options_.outFolder + "volume." + sixDigits(volume) + "." + std::to_string(i) + ".txt";
      source.chain = links[i];
      writeTextFile(path, transformFileText<D>(source, warnings), Sync::no);
      source.initialPath = path;
    }
  }

  void tell(std::size_t volume, const VolumeResult<D>& result)
  {
    Json line{{"image", options_.series}, {"volume", volume}};
    if (result.chain)
      line.update(Json{{"start", result.isCold ? "cold" : "warm"},
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
  UpdateLines lines_;
};

}

int runSeries(const Registry& registry, const FollowOptions& options, RunLog& log)
{
  return options.lastAxisIsTime ? SeriesRun<2>(registry, options, log).run()
                                : SeriesRun<3>(registry, options, log).run();
}

}
