#pragma once

#include "Core/Compute/Cuda/LaunchShape.h"

#include <string>
#include <utility>
#include <vector>

namespace tessera {

/// The unit that an operation of a dependent chain waits for. `cycle` is one cycle of instructions whose
/// latency is fixed: additions, multiplications, jumps.
enum class LatencyClass { cycle, special, specialFp64, constant, shared, l1, l2, dram, barrier };

/// A part of the chain of dependent operations of a warp: so many operations, of which `inFlight` wait at the
/// same time.
struct ChainLink {
  LatencyClass latency = LatencyClass::cycle;
  double operations = 0;
  double inFlight = 1;
};

/// The work of one warp of a launch, the mean over all warps. A function beside each kernel's launch counts
/// it from the algorithm and from the instructions that the compiler makes of it;
/// Testing/Benchmarks/kernel-counts holds the counts against the hardware's counters.
struct KernelCost {
  double issueSlots = 0; // instructions of every kind
  double fp32 = 0;       // with multiplications of integers, which the same units do
  double fp64 = 0, special = 0;
  double integer = 0;                                    // additions, comparisons, shifts and selections
  double globalInstructions = 0, sharedInstructions = 0; // loads, stores and additions
  double l1Wavefronts = 0, sharedWavefronts = 0;
  double sharedAtomics = 0;  // wavefronts of additions in shared memory
  double atomicSectors = 0;  // sectors of 32 bytes to which global memory adds
  double meetingSectors = 0; // the same where all multiprocessors add at the same places
  double l2Sectors = 0;      // of 32 bytes, between the multiprocessors and the L2 cache
  double dramReadBytes = 0, dramWrittenBytes = 0;
  double barriers = 0;
  std::vector<ChainLink> chain = {};

  /// Adds `times` as much of another cost; its chain comes behind this one.
  KernelCost& add(double times, const KernelCost& part);
};

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

/// The mean cost of a warp for a part of a block in which its threads share `tasks` tasks: warp 0 does the
/// first 32, and so on, then the next ones around. `head` is what each warp does once, `task` what it does
/// for 32 tasks. The chain is that of the warp with the most tasks.
KernelCost sharedTasks(double tasks, int threads, const KernelCost& head, const KernelCost& task);

struct KernelLaunch {
  std::string kernel;
  /// The parts of a block that barriers separate. A kernel without barriers has one.
  std::vector<KernelCost> phases;
  LaunchShape shape;

  KernelCost cost() const;
};

}
