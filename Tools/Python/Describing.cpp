#include "Core/Registry/Describe.h"
#include "Tools/Python/Bindings.h"
#include "Tools/Python/Chain.h"
#include "Tools/Register/ComponentPages.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace tessera::python {

void bindDescribing(nb::module_& module)
{
  nb::enum_<ParameterType>(module, "ParameterType")
      .value("integer", ParameterType::integer)
      .value("real", ParameterType::real)
      .value("boolean", ParameterType::boolean)
      .value("text", ParameterType::text);
  nb::class_<ParameterInfo>(module, "ParameterInfo", "A parameter that a component reads.")
      .def_ro("name", &ParameterInfo::name, "Its name in parameter files.")
      .def_ro("type", &ParameterInfo::type, "What its values are.")
      .def_ro("default", &ParameterInfo::defaultText, "As a file has it; empty: there is none.")
      .def_ro("unit", &ParameterInfo::unit, "\"mm\", \"voxels\", ...; empty: none.")
      .def_ro("meaning", &ParameterInfo::meaning, "One line.")
      .def_ro("choices", &ParameterInfo::choices, "The texts that are allowed; empty: any.")
      .def_ro("minimum", &ParameterInfo::minimum, "The least value that is allowed.")
      .def_ro("maximum", &ParameterInfo::maximum, "The largest value that is allowed.")
      .def("__repr__", [](const ParameterInfo& info) { return "<parameter " + info.name + ">"; });
  nb::class_<ComponentDescription>(module, "Component", "Something that a parameter file can name.")
      .def_ro("role", &ComponentDescription::role, "\"Metric\", \"Transform\", ...")
      .def_ro("name", &ComponentDescription::name, "The value in a parameter file.")
      .def_ro("summary", &ComponentDescription::summary, "One line, with the formula or the source.")
      .def_ro("aliases", &ComponentDescription::aliases, "Other values that mean the same.")
      .def_ro("parameters", &ComponentDescription::parameters, "What it reads.")
      .def("__str__", &describeComponent)
      .def("__repr__", [](const ComponentDescription& component) {
        return "<" + component.role + " " + component.name + ">";
      });
  module.def("components", [] {
    std::vector<ComponentDescription> all;
    for (const ComponentDescription* const component : components().all())
      all.push_back(*component);
    return all;
  });
  module.def("require_component", [](const std::string& name) { componentPage(components(), name); });
}

}
