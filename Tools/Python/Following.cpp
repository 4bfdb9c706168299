#include "Core/Compute/Error.h"
#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Files/ImageSource.h"
#include "Core/Runs/Following/Follower.h"
#include "Core/Runs/Following/SeriesPage.h"
#include "Core/Runs/Following/VolumeMotion.h"
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
  FollowedIn(const RunRequest& request, WorkLog& log)
      : Followed(log), threads_(request.threads), follower_(components(), request, log_)
  {
  }

  Work::Make update(Work& work, const Source& moving, Deadline deadline) override
  {
    log_.work = &work.log;
    const auto found = std::make_shared<FoundIn<D>>(work.log);
    // Its image is in `found`.
    const auto kept = std::make_shared<FollowUpdate<D>>(
        follower_.update(moving.image(threads_, work.log), *found, deadline, work.stop()));
    return [found, kept] {
      const FollowUpdate<D>& update = *kept;
      return nb::make_tuple(
          std::shared_ptr<Found>(found), update.isCold, textOf(update.why), update.endedInTime, update.levels,
          update.metric, update.fit.overlap, update.fit.correlation, update.fit.folded, update.before.leftMm,
          update.fit.meanDisplacementMm, update.fit.largestDisplacementMm, update.readingSeconds,
          update.lookingSeconds, update.registeringSeconds, textsOf(update.whatWasRun));
    };
  }

  void setLast(const Chain* chain) override
  {
    follower_.setLast(chain ? *chain->given("the last transform").held<D>() : nullptr);
  }

private:
  const int threads_;
  Follower<D> follower_;
};

template <int D>
std::shared_ptr<Followed> followed(const RunRequest& request, WorkLog& log)
{
  return std::make_shared<FollowedIn<D>>(request, log);
}

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
    const bool isFlat = readHeaders(toItself, work.log).dimension() == 2;
    return [made = isFlat ? followed<2>(request, work.log) : followed<3>(request, work.log)] {
      return nb::cast(made);
    };
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

/// Volumes are the moving images: arrays of 3D, or a file in 4D. Also returns the distance in time of a file.
std::pair<SeriesRequest<3>, double> seriesOf(const Asked& asked, const std::string& reference, Log& log)
{
  Asked rest = asked;
  rest.moving.clear();
  if (reference != "fixed")
    rest.fixed.clear();
  SeriesRequest<3> series;
  series.run = requestOf(rest, log);
  series.reference = reference;
  double timeStep = 1;
  for (const Source* const source : asked.moving) {
    const GivenImage given = source->image(series.run.threads, log);
    if (given.isFile()) {
      std::vector<std::string> notes;
      const auto volumes = readVolumes(given.path, {}, notes, series.run.threads);
      series.volumes = {volumes.begin(), volumes.end()};
      const ImageHeader header = readImageHeader(given.path, {});
      series.volumes.front().type = header.componentType;
      timeStep = header.spacingMm[3];
      for (const std::string& note : notes)
        log.note("series: " + note);
    } else {
      series.volumes.push_back(*given.held<3>());
    }
  }
  const PixelType type = series.volumes.front().type;
  series.type = type == PixelType::float64 ? PixelType::float32 : type;
  return {std::move(series), timeStep};
}

/// All volumes in one array of t, z, y, x; those without a result are 0.
nb::object imagesOf(const SeriesResult<3>& found, PixelType type)
{
  const std::size_t bytes = found.reference.voxelCount() * pixelTypeSize(type);
  auto* const all = new std::vector<std::byte>(bytes * found.volumes.size());
  const nb::capsule owner(all, [](void* p) noexcept { delete static_cast<std::vector<std::byte>*>(p); });
  for (std::size_t i = 0; i < found.volumes.size(); ++i)
    std::ranges::copy(found.volumes[i].pixels, all->begin() + static_cast<std::ptrdiff_t>(i * bytes));
  std::vector<std::size_t> shape = shapeOf<3>(found.reference);
  shape.insert(shape.begin(), found.volumes.size());
  return withPixelType(type, [&]<class T>(std::type_identity<T>) {
    return nb::cast(nb::ndarray<nb::numpy, T>(all->data(), shape.size(), shape.data(), owner));
  });
}

nb::object pythonOf(const SeriesResult<3>& found, const SeriesRequest<3>& series, double timeStep,
                    const std::string& page)
{
  nb::list chains, isCold, errors, correlations;
  for (const VolumeResult<3>& volume : found.volumes) {
    chains.append(volume.chain ? nb::cast(chainOfStage<3>(volume.chain, series.run.stages.back().map))
                               : nb::none());
    isCold.append(volume.isCold);
    errors.append(textOf(volume.error));
    correlations.append(volume.correlation);
  }
  const auto motions = motionsOf<3>(found);
  return nb::make_tuple(imagesOf(found, series.type), numbersOf<3>(found.reference),
                        numbersOf<3>(series.volumes.front().image->geometry), timeStep, chains, isCold,
                        errors, correlations, textOf(page), motionTable(motions, "fsl"),
                        motionTable(motions, "spm"));
}

Work* followSeries(const nb::object& object, const std::string& reference, bool report, int leastLevel)
{
  const auto asked = std::make_shared<Asked>(nb::cast<const Asked&>(object));
  return new Work(object, leastLevel, [=](Work& work) -> Work::Make {
    auto [series, timeStep] = seriesOf(*asked, reference, work.log);
    series.progress = [&, volumes = series.volumes.size()](std::size_t pass, std::size_t passes,
                                                           std::size_t volumesDone) {
      work.log.progressed({pass, passes, 0, 1, volumesDone, 0, volumes});
    };
    const auto found = std::make_shared<SeriesResult<3>>(
        registerSeries<3>(components(), series, work.log, shippedMachine(), work.stop()));
    const std::string page = report ? seriesPage<3>("array", series, *found) : "";
    series.volumes.resize(1, series.volumes.front()); // for its geometry
    return [found, series = std::move(series), timeStep = timeStep, page] {
      return pythonOf(*found, series, timeStep, page);
    };
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
