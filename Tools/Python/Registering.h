#pragma once

#include <nanobind/nanobind.h>

namespace tessera::python {

/// Binds `register`, `check` and what they give.
void bindRegistering(nanobind::module_&);

}
