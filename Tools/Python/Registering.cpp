
#include "Core/Compute/Error.h"
#include "Core/Compute/ErrorContext.h"
#include "Core/Runs/OutputNames.h"
#include "Core/Runs/Run.h"
#include "Tools/Python/Bindings.h"
#include "Tools/Python/Found.h"
#include "Tools/Python/Work.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>

namespace tessera::python {
namespace {

using Sources = std::vector<const Source*>;

/// What Python asks for. Sources are those of objects that the caller keeps until the work has ended.
struct Asked {
  Sources fixed, moving, fixedMasks, movingMasks, fixedLabels, movingLabels; // labels: none or one
  RunRequest request;                                                        // all else
};

/// The request with copies of all arrays.
RunRequest requestOf(const Asked& asked, Log& log)
{
  RunRequest request = asked.request;
  const int threads = request.threads;
  const auto add = [&](const char* option, const Sources& sources, auto& list, auto convert) {
    for (const Source* const source : sources)
      list.push_back(withContext(option, [&] { return convert(*source); }));
  };
  const auto asImage = [&](const Source& source) { return source.image(threads, log); };
  const auto asMask = [&](const Source& source) { return source.mask(threads); };
  add("-f", asked.fixed, request.fixed, asImage);
  add("-m", asked.moving, request.moving, asImage);
  add("-fMask", asked.fixedMasks, request.fixedMasks, asMask);
  add("-mMask", asked.movingMasks, request.movingMasks, asMask);
  for (const Source* const source : asked.fixedLabels)
    request.fixedLabels = withContext("--fLabels", [&] { return source->labels(threads); });
  for (const Source* const source : asked.movingLabels)
    request.movingLabels = withContext("--mLabels", [&] { return source->labels(threads); });
  return request;
}

template <int D>
Work::Make registered(Work& work, RunRequest request, InputHeaders headers)
{
  const auto start = std::chrono::steady_clock::now();
  auto found = std::make_shared<FoundIn<D>>(work.log);
  RecordFacts facts;
  facts.command = "tessera.register";
  facts.started = currentTime();
  const auto noFiles = [](const std::string&) { return std::vector<std::string>{}; };
  for (const RunInput& input : runInputsOf(request, noFiles))
    facts.digests.push_back({input.role, input.path, 0, ""});
  const Work::Make make = [found] { return nb::cast(std::shared_ptr<Found>(found)); };
  Run<D> run(components(), request, std::move(headers), work.log);
  const auto finish = [&](const Failure& failure) {
    facts.finished = currentTime();
    facts.seconds = secondsSince(start);
    facts.failure = failure;
    facts.warnings = work.log.warnings();
    const InputHeaders ofRun = run.headers();
    found->finish(std::move(request), ofRun, run.takeSummary(), std::move(facts));
  };
  try {
    run.execute(*found, work.stop());
  } catch (const Interrupted&) {
    finish(failureOf(std::current_exception()));
    work.keepPartial(make);
    throw;
  }
  finish({});
  return make;
}

/// How it would go.
struct Prediction {
  std::vector<std::string> lines, devices;
  double seconds = 0, hostBytes = 0;
  bool mayEndEarly = false;
};

template <int D>
Prediction planned(Work& work, const RunRequest& request, InputHeaders headers)
{
  const RunPlan plan = Run<D>(components(), request, std::move(headers), work.log).plan();
  Prediction prediction{
      plan.lines, {}, plan.times.start + plan.times.stages, plan.host.bytes(), plan.mayEndEarly};
  for (const StagePlan& stage : plan.stages)
    prediction.devices.push_back(deviceName(stage.choice.device));
  return prediction;
}

/// Work that reads the headers, and then goes on in their dimension.
template <class In2D, class In3D>
Work* workOn(nb::object inputs, int leastLevel, std::shared_ptr<const Asked> asked, In2D in2D, In3D in3D)
{
  return new Work(std::move(inputs), leastLevel, [=](Work& work) -> Work::Make {
    RunRequest request = requestOf(*asked, work.log);
    InputHeaders headers = readHeaders(request, work.log);
    return headers.dimension() == 2 ? in2D(work, std::move(request), std::move(headers))
                                    : in3D(work, std::move(request), std::move(headers));
  });
}

template <int D>
Work::Make predicted(Work& work, const RunRequest& request, InputHeaders headers)
{
  return [prediction = planned<D>(work, request, std::move(headers))] { return nb::cast(prediction); };
}

template <class Given>
void setGiven(Given& given, const nb::object& value, const std::string& name)
{
  if (value.is_none())
    return;
  if (nb::isinstance<nb::str>(value))
    given = {nb::cast<std::string>(value)};
  else if constexpr (std::is_same_v<Given, GivenPoints>)
    given = givenPoints(name, nb::cast<PointArray>(value));
  else
    given = nb::cast<const Chain&>(value).given(name);
}

void bindAsked(nb::module_& module)
{
  const auto setRequest = [](const char* name, auto member) {
    return [name, member](Asked& asked, const nb::object& value) {
      setGiven(asked.request.*member, value, name);
    };
  };
  nb::class_<Asked>(module, "Asked")
      .def(nb::init<>())
      .def(
          "add",
          [](Asked& asked, const std::string& role, const Source& source) {
            for (const auto& [name, list] : {std::pair{"fixed", &asked.fixed},
                                             {"moving", &asked.moving},
                                             {"fixed_mask", &asked.fixedMasks},
                                             {"moving_mask", &asked.movingMasks},
                                             {"fixed_labels", &asked.fixedLabels},
                                             {"moving_labels", &asked.movingLabels}})
              if (name == role)
                list->push_back(&source);
          },
          nb::keep_alive<1, 3>())
      .def("set_fixed_points", setRequest("fixed_points", &RunRequest::fixedPoints))
      .def("set_moving_points", setRequest("moving_points", &RunRequest::movingPoints))
      .def("set_point_weights",
           [](Asked& asked, const std::string& path, const std::string& text) {
             asked.request.pointWeights = {path, text};
           })
      .def("set_initial", setRequest("initial", &RunRequest::initialTransform))
      .def("add_file",
           [](Asked& asked, const std::string& path) { asked.request.stages.push_back(readStageText(path)); })
      .def("add_text",
           [](Asked& asked, const std::string& name, const std::string& text) {
             asked.request.stages.push_back(stageTextOf(name, text));
           })
      .def("add_map",
           [](Asked& asked, const std::string& name, const Entries& entries) {
             asked.request.stages.push_back({.path = name, .map = mapOf(entries, name)});
           })
      .def("set_device", [](Asked& asked, const std::string& device) { asked.request.device = device; })
      .def("set_threads",
           [](Asked& asked, int threads, const std::string& source) {
             asked.request.threads = threads;
             asked.request.threadSource = source;
           })
      .def("set_most_device_memory",
           [](Asked& asked, double bytes) { asked.request.maxDeviceMemory = bytes; })
      .def("set_strict", [](Asked& asked, bool strict) { asked.request.strict = strict; })
      .def("set_pictures", [](Asked& asked, bool pictures) { asked.request.pictures = pictures; });
}

}

void bindRegistering(nb::module_& module)
{
  bindAsked(module);
  nb::class_<Prediction>(module, "Prediction")
      .def_ro("lines", &Prediction::lines)
      .def_ro("devices", &Prediction::devices)
      .def_ro("seconds", &Prediction::seconds)
      .def_ro("host_bytes", &Prediction::hostBytes)
      .def_ro("may_end_early", &Prediction::mayEndEarly);
  nb::class_<Found>(module, "Found")
      .def_prop_ro("dimension", &Found::dimension)
      .def("chains", &Found::chains, nb::sig("def chains(self) -> list[typing.Any]"))
      .def("image", &Found::image, nb::sig("def image(self) -> typing.Any"))
      .def("record", [](const Found& found) { return textOf(found.record()); })
      .def("page", [](const Found& found) { return textOf(found.page()); })
      .def("curves", &Found::curves)
      .def("save", [](std::shared_ptr<const Found> found, const std::string& folder, int leastLevel) {
        return new Work(nb::none(), leastLevel, [found, folder](Work& work) -> Work::Make {
          found->save(folder, work.log);
          return [] { return nb::none(); };
        });
      });
  // Asked is copied, so that it may be used again; the object itself holds the arrays.
  module.def("register", [](const nb::object& asked, int leastLevel) {
    return workOn(asked, leastLevel, std::make_shared<Asked>(nb::cast<const Asked&>(asked)), registered<2>,
                  registered<3>);
  });
  module.def("check", [](const nb::object& asked, int leastLevel) {
    return workOn(asked, leastLevel, std::make_shared<Asked>(nb::cast<const Asked&>(asked)), predicted<2>,
                  predicted<3>);
  });
}

}
