#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/Memory.h"
#include "Core/Image/Slices/VolumeReader.h"
#include "Core/Runs/Following/Follower.h"
#include "Core/Runs/Following/Series.h"
#include "Core/Runs/Following/SeriesPage.h"
#include "Core/Runs/Following/WhatWasRun.h"
#include "Tools/Python/Asked.h"
#include "Tools/Python/Bindings.h"
#include "Tools/Python/Found.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cmath>

#include <malloc.h>

namespace tessera::python {
namespace {

/// Hands the lines of a follower to the work that runs. Warnings stay here.
class LogOfWork final : public Log {
public:
  WorkLog* work;

  explicit LogOfWork(WorkLog& first) : work(&first) {}

private:
  void write(LogLevel level, const std::string& line, LineKind kind) override
  {
    work->take(level, line, kind);
  }
};

/// A follower in either dimension.
class Followed {
public:
  explicit Followed(WorkLog& log) : log_(log) {}
  virtual ~Followed() = default;
  virtual Work::Make update(Work&, const Source& moving, Deadline) = 0;
  virtual void setLast(const Chain*) = 0; // null: the next update begins anew
  std::vector<std::string> warnings() const { return log_.warnings(); }

protected:
  LogOfWork log_;
};

template <int D>
class FollowedIn final : public Followed {
public:
  FollowedIn(const RunRequest& request, bool takesPixelsOnCuda, WorkLog& log)
      : Followed(log), threads_(request.threads), takesPixelsOnCuda_(takesPixelsOnCuda),
        follower_(components(), request, log_)
  {
    keepFreedMemory();
  }
  ~FollowedIn() override { malloc_trim(0); }

  Work::Make update(Work& work, const Source& moving, Deadline deadline) override
  {
    log_.work = &work.log;
    const auto found = std::make_shared<FoundIn<D>>(work.log, takesPixelsOnCuda_, false);
    // Its image is in `found`.
    const auto kept = std::make_shared<FollowUpdate<D>>(
        follower_.update(moving.image(threads_, work.log), *found, deadline, work.stop()));
    return [found, kept] {
      const FollowUpdate<D>& update = *kept;
      return nb::make_tuple(std::shared_ptr<Found>(found), update.isCold, textOf(update.why),
                            update.endedInTime, update.levels, update.metric, update.fit.overlap,
                            update.fit.correlation, update.fit.folded, update.before.leftMm,
                            update.fit.meanDisplacementMm, update.fit.largestDisplacementMm,
                            update.readingSeconds, update.lookingSeconds, update.registeringSeconds,
                            textsOf(update.warnings), textsOf(update.whatWasRun));
    };
  }

  void setLast(const Chain* chain) override
  {
    follower_.setLast(chain ? *chain->given("the last transform").held<D>() : nullptr);
  }

private:
  const int threads_;
  const bool takesPixelsOnCuda_;
  Follower<D> follower_;
};

/// `resample`: each update has its image.
Work* follow(const nb::object& object, bool resample, int leastLevel)
{
  const auto asked = std::make_shared<Asked>(nb::cast<const Asked&>(object));
  return new Work(object, leastLevel, [asked, resample](Work& work) -> Work::Make {
    Asked fixedAlone = *asked;
    fixedAlone.moving.clear();
    RunRequest request = requestOf(fixedAlone, work.log);
    for (StageText& stage : request.stages)
      if (stage.map)
        stage.map = withValues(stage.map, "WriteResultImage",
                               {resample && &stage == &request.stages.back() ? "true" : "false"});
    RunRequest toItself = request;
    toItself.moving = toItself.fixed;
    return withConstant<2, 3>(readHeaders(toItself, work.log).dimension(), [&]<int D>() -> Work::Make {
      const std::shared_ptr<Followed> made =
          std::make_shared<FollowedIn<D>>(request, asked->takesPixelsOnCuda, work.log);
      return [made] { return nb::cast(made); };
    });
  });
}

Work* update(std::shared_ptr<Followed> followed, const nb::object& moving, double seconds, int leastLevel)
{
  using std::chrono::duration_cast;
  const Deadline deadline =
      std::isinf(seconds) ? Deadline::max()
                          : std::chrono::steady_clock::now()
                                + duration_cast<Deadline::duration>(std::chrono::duration<double>(seconds));
  return new Work(moving, leastLevel, [=, source = &nb::cast<const Source&>(moving)](Work& work) {
    return followed->update(work, *source, deadline);
  });
}

/// A series and what was found for it.
struct AskedSeries {
  SeriesRequest<3> request;
  ImageGeometry<3> geometry, reference;
  double timeStep = 1;
  std::vector<VolumeResult<3>> results;
  std::vector<std::byte> pixels; // of all volumes; of those without a result they are 0
  std::vector<std::optional<VolumeMotion>> motions;

  /// Volumes are the moving images: arrays of 3D, or a file in 4D.
  AskedSeries(const Asked& asked, const std::string& reference, Log& log)
  {
    Asked rest = asked;
    rest.moving.clear();
    if (reference != "fixed")
      rest.fixed.clear();
    request.run = requestOf(rest, log);
    request.reference = reference;
    const int threads = request.run.threads;
    if (const GivenImage first = asked.moving.front()->image(threads, log); first.isFile()) {
      const auto file = std::make_shared<VolumeReader<3>>(first.path, ReadingOptions{}, threads);
      for (const std::string& note : file->notes())
        log.note("series: " + note);
      request.volumes = file->volumes();
      request.read = [=](std::size_t i) { return HeldImage<3>(file->read(i, threads)); };
      request.type = file->header().componentType;
      geometry = file->geometry();
      timeStep = file->header().spacingMm[3];
    } else {
      std::vector<HeldImage<3>> volumes;
      for (const Source* const source : asked.moving)
        volumes.push_back(*source->image(threads, log).held<3>());
      request.volumes = volumes.size();
      request.type = volumes.front().type;
      geometry = volumes.front().image->geometry;
      request.read = [volumes = std::move(volumes)](std::size_t i) { return volumes[i]; };
    }
    if (request.type == PixelType::float64)
      request.type = PixelType::float32;
  }

  void take(const ImageGeometry<3>& grid, VolumeResult<3> result)
  {
    reference = grid;
    pixels.resize(results.size() * bytesOfVolume());
    pixels.insert(pixels.end(), result.pixels.begin(), result.pixels.end());
    pixels.resize((results.size() + 1) * bytesOfVolume());
    result.pixels = {};
    motions.push_back(motionOf<3>(result.chain.get(), grid));
    results.push_back(std::move(result));
  }

  std::size_t bytesOfVolume() const { return reference.voxelCount() * pixelTypeSize(request.type); }

  std::string page() const
  {
    ShownSeries<3> shown{"array", request.reference, {}, motions, geometry, reference, {}, {}};
    for (const VolumeResult<3>& result : results)
      shown.hasResult.push_back(result.chain != nullptr);
    ImagePointer<3> before;
    shown.before = [&](std::size_t i) {
      before = request.read(i).image;
      return std::span<const float>(before->voxels);
    };
    std::vector<float> after(reference.voxelCount());
    shown.after = [&](std::size_t i) {
      withPixelType(request.type, [&]<class T>(std::type_identity<T>) {
        const T* const values = reinterpret_cast<const T*>(pixels.data() + i * bytesOfVolume());
        std::transform(values, values + after.size(), after.begin(),
                       [](T value) { return static_cast<float>(value); });
      });
      return std::span<const float>(after);
    };
    return seriesPage<3>(shown);
  }
};

/// All volumes in one array of t, z, y, x.
nb::object imagesOf(AskedSeries& series)
{
  auto* const all = new std::vector<std::byte>(std::move(series.pixels));
  const nb::capsule owner(all, [](void* p) noexcept { delete static_cast<std::vector<std::byte>*>(p); });
  std::vector<std::size_t> shape = shapeOf<3>(series.reference);
  shape.insert(shape.begin(), series.results.size());
  return withPixelType(series.request.type, [&]<class T>(std::type_identity<T>) {
    return nb::cast(nb::ndarray<nb::numpy, T>(all->data(), shape.size(), shape.data(), owner));
  });
}

nb::object pythonOf(AskedSeries& series, const std::string& page)
{
  nb::list chains, isCold, errors, correlations;
  for (const VolumeResult<3>& volume : series.results) {
    chains.append(volume.chain ? nb::cast(chainOfStage<3>(volume.chain, series.request.run.stages.back().map))
                               : nb::none());
    isCold.append(volume.isCold);
    errors.append(textOf(volume.error));
    correlations.append(volume.correlation);
  }
  return nb::make_tuple(imagesOf(series), numbersOf<3>(series.reference), numbersOf<3>(series.geometry),
                        series.timeStep, chains, isCold, errors, correlations, textOf(page),
                        motionTable(series.motions, "fsl"), motionTable(series.motions, "spm"));
}

Work* followSeries(const nb::object& object, const std::string& reference, bool report, int leastLevel)
{
  const auto asked = std::make_shared<Asked>(nb::cast<const Asked&>(object));
  return new Work(object, leastLevel, [=](Work& work) -> Work::Make {
    const auto series = std::make_shared<AskedSeries>(*asked, reference, work.log);
    series->request.progress = [&](std::size_t pass, std::size_t passes, std::size_t volumesDone) {
      work.log.progressed({pass, passes, 0, 1, volumesDone, 0, series->request.volumes});
    };
    registerSeries<3>(
        components(), series->request,
        [&](const ImageGeometry<3>& grid, std::size_t, VolumeResult<3> result) {
          series->take(grid, std::move(result));
        },
        work.log, shippedMachine(), work.stop());
    const std::string page = report ? series->page() : "";
    series->request.read = {};
    return [series, page] { return pythonOf(*series, page); };
  });
}

}

void bindFollowing(nb::module_& module)
{
  nb::class_<Followed>(module, "Followed")
      .def("set_last", &Followed::setLast, nb::arg().none())
      .def("warnings", [](const Followed& followed) { return textsOf(followed.warnings()); })
      .def("update", update);
  module.def("follow", follow);
  module.def("follow_series", followSeries);
}

}
