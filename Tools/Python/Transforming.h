#pragma once

#include <nanobind/nanobind.h>

namespace tessera::python {

/// Binds what applies transforms.
void bindTransforming(nanobind::module_&);

}
