#pragma once

#include <nanobind/nanobind.h>

namespace tessera::python {

// What each file of this name binds.
void bindArrays(nanobind::module_&);
void bindAsked(nanobind::module_&);
void bindChain(nanobind::module_&);
void bindComparing(nanobind::module_&);
void bindDescribing(nanobind::module_&);
void bindFiles(nanobind::module_&);
void bindFollowing(nanobind::module_&);
void bindRegistering(nanobind::module_&);
void bindSparse(nanobind::module_&);
void bindTransforming(nanobind::module_&);
void bindWork(nanobind::module_&);

}
