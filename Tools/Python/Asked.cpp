#include "Tools/Python/Asked.h"

#include "Core/Compute/ErrorContext.h"
#include "Core/Runs/Following/WhatWasRun.h"
#include "Tools/Common/Process.h"
#include "Tools/Python/Bindings.h"
#include "Tools/Python/Chain.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace tessera::python {
namespace {

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

}

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
  if (!asked.resamples)
    for (StageText& stage : request.stages)
      if (stage.map)
        stage.map = withValues(stage.map, "WriteResultImage", {"false"});
  return request;
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
           [](Asked& asked, const std::string& name, const Entries& entries,
              const std::vector<std::size_t>& lines) {
             asked.request.stages.push_back({.path = name, .map = mapOf(entries, name, lines)});
           })
      .def("set_device", [](Asked& asked, const std::string& device) { asked.request.device = device; })
      .def("set_threads",
           [](Asked& asked, int threads, const std::string& source) {
             asked.request.threads = threads;
             asked.request.threadSource = source;
           })
      .def("set_most_device_memory",
           [](Asked& asked, const std::string& size) {
             asked.request.maxDeviceMemory = memorySize("--max-device-memory", size);
           })
      .def("set_strict", [](Asked& asked, bool strict) { asked.request.strict = strict; })
      .def("set_quality", [](Asked& asked, bool quality) { asked.request.measuresResult = quality; })
      .def("set_resample", [](Asked& asked, bool resample) { asked.resamples = resample; })
      .def("set_stays_on_gpu", [](Asked& asked, bool stays) { asked.takesPixelsOnCuda = stays; })
      .def("set_inverse", [](Asked& asked, bool inverse) { asked.request.inverseToo = inverse; })
      .def("set_pictures", [](Asked& asked, bool pictures) { asked.request.pictures = pictures; });
}

}
