#include "Core/Compute/Error.h"
#include "Core/Runs/OutputNames.h"
#include "Core/Runs/Run.h"
#include "Tools/Python/Asked.h"
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

template <int D>
Work::Make registered(Work& work, const Asked& asked, RunRequest request, InputHeaders headers)
{
  const auto start = std::chrono::steady_clock::now();
  auto found = std::make_shared<FoundIn<D>>(work.log, asked.takesPixelsOnCuda);
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
    if (request.inverseToo)
      found->findInverse(work.stop());
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
Work::Make predicted(Work& work, const Asked&, const RunRequest& request, InputHeaders headers)
{
  const RunPlan plan = Run<D>(components(), request, std::move(headers), work.log).plan();
  Prediction prediction{
      plan.lines, {}, plan.times.start + plan.times.stages, plan.host.bytes(), plan.mayEndEarly};
  for (const StagePlan& stage : plan.stages)
    prediction.devices.push_back(deviceName(stage.choice.device));
  return [prediction] { return nb::cast(prediction); };
}

/// Work that reads the headers, and then goes on in their dimension: in.operator()<D>(work, asked, request,
/// headers).
template <class In>
Work* workOn(const nb::object& asked, int leastLevel, In in)
{
  // Asked is copied, so that it may be used again; the object itself holds the arrays.
  const auto copy = std::make_shared<Asked>(nb::cast<const Asked&>(asked));
  return new Work(asked, leastLevel, [=](Work& work) -> Work::Make {
    RunRequest request = requestOf(*copy, work.log);
    InputHeaders headers = readHeaders(request, work.log);
    return withConstant<2, 4>(headers.dimension(), [&]<int D>() {
      return in.template operator()<D>(work, *copy, std::move(request), std::move(headers));
    });
  });
}

}

void bindRegistering(nb::module_& module)
{
  nb::class_<Prediction>(module, "Prediction")
      .def_ro("lines", &Prediction::lines)
      .def_ro("devices", &Prediction::devices)
      .def_ro("seconds", &Prediction::seconds)
      .def_ro("host_bytes", &Prediction::hostBytes)
      .def_ro("may_end_early", &Prediction::mayEndEarly);
  nb::class_<Found>(module, "Found")
      .def_prop_ro("dimension", &Found::dimension)
      .def("chains", &Found::chains, nb::sig("def chains(self) -> list[typing.Any]"))
      .def("inverse", &Found::inverse, nb::sig("def inverse(self) -> typing.Any"))
      .def(
          "image", [](nb::handle self) { return nb::cast<const Found&>(self).image(self); },
          nb::sig("def image(self) -> typing.Any"))
      .def("record", [](const Found& found) { return textOf(found.record()); })
      .def("page", [](const Found& found) { return textOf(found.page()); })
      .def("curves", &Found::curves)
      .def("save", [](std::shared_ptr<const Found> found, const std::string& folder, int leastLevel) {
        return new Work(nb::none(), leastLevel, [found, folder](Work& work) -> Work::Make {
          found->save(folder, work.log);
          return [] { return nb::none(); };
        });
      });
  module.def("register", [](const nb::object& asked, int leastLevel) {
    return workOn(asked, leastLevel,
                  []<int D>(auto&&... of) { return registered<D>(std::forward<decltype(of)>(of)...); });
  });
  module.def("check", [](const nb::object& asked, int leastLevel) {
    return workOn(asked, leastLevel,
                  []<int D>(auto&&... of) { return predicted<D>(std::forward<decltype(of)>(of)...); });
  });
}

}
