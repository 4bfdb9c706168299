#pragma once

#include <string>

namespace tessera {

/// The properties of a GPU that microbenchmarks measure. The performance model (KernelModels.h) knows a GPU
/// by these numbers alone. Cycles are those of a multiprocessor's clock while it computes.
struct GpuRates {
  std::string gpu; // name and number of multiprocessors, "NVIDIA H200, 132 multiprocessors"
  double multiprocessors = 0, clockGHz = 0, cacheBytes = 0;
  // The driver says how much a multiprocessor has for its active blocks.
  double schedulers = 4, maxBlocks = 0, maxWarps = 0, registers = 0, sharedBytes = 0, reservedSharedBytes = 0;

  // Cycles from the start of an operation to the start of one that needs its result.
  double latencyFp32 = 0, latencyFp64 = 0, latencySpecial = 0, latencySpecialFp64 = 0;
  double latencyConstant = 0, latencyShared = 0, latencyL1 = 0, latencyL2 = 0, latencyDram = 0;
  double latencyBarrier = 0; // of a block of 256 threads that arrive together

  // Instructions of a warp that a multiprocessor does in a cycle.
  double issue = 0, fp32 = 0, fp64 = 0, special = 0, integer = 0;
  // Wavefronts in a cycle: what one instruction of a warp moves at once, up to 128 bytes.
  double l1Wavefronts = 0, sharedWavefronts = 0;
  double sharedAtomics = 0; // additions of a warp to 32 banks, per multiprocessor and cycle

  // Bytes a second of the whole device, all multiprocessors at work. A copy counts what it reads and writes.
  double l2Bytes = 0, dramReadBytes = 0, dramWriteBytes = 0, dramCopyBytes = 0;
  /// Bytes a second that one multiprocessor reads from the L2 cache alone.
  double l2BytesOfOne = 0;
  /// Sectors of 32 bytes a second to which additions in global memory go: each lane at a place of its own,
  /// and all multiprocessors at the same places.
  double atomicSectors = 0, meetingSectors = 0;

  double blocksPerSecond = 0; // of one warp, that the device starts
  double launchSeconds = 0;   // of an empty kernel, by the device's timer
  // Bytes a second between host and device.
  double pinnedUpload = 0, pinnedDownload = 0, pageableUpload = 0, pageableDownload = 0;
  /// Exponent by which the bounds of throughput and latency are joined; see KernelModels.h.
  double exponent = 0;
};

/// The rates of an NVIDIA H100, from which those of a GPU are scaled that nobody measured (GpuAttributes.h).
const GpuRates& usualGpuRates();

}
