#pragma once

#include "Tools/Bench/Model/KernelCost.h"

#include <utility>

namespace tessera {

/// The names of a KernelCost's counts in the table of `tessera-bench model --counts`, in its order.
inline constexpr std::pair<const char*, double KernelCost::*> kernelCostNames[] = {
    {"issue", &KernelCost::issueSlots},
    {"fp32", &KernelCost::fp32},
    {"fp64", &KernelCost::fp64},
    {"special", &KernelCost::special},
    {"integer", &KernelCost::integer},
    {"l1", &KernelCost::l1Wavefronts},
    {"shared", &KernelCost::sharedWavefronts},
    {"sharedAtomics", &KernelCost::sharedAtomics},
    {"atomics", &KernelCost::atomicSectors},
    {"meeting", &KernelCost::meetingSectors},
    {"l2Sectors", &KernelCost::l2Sectors},
    {"read", &KernelCost::dramReadBytes},
    {"written", &KernelCost::dramWrittenBytes},
    {"barriers", &KernelCost::barriers}};

/// The names of the latencies in the same table, in the order of LatencyClass.
inline constexpr const char* latencyNames[] = {"cycle", "special", "specialFp64", "constant", "shared",
                                               "l1",    "l2",      "dram",        "barrier"};

}
