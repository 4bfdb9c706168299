#pragma once

#include "Core/Parameters/ParameterMap.h"

#include <string>

namespace tessera {

/// Nanoseconds an item, measured with one thread and with all threads.
struct ThreadRate {
  double oneThread = 0, allThreads = 0;

  /// Nanoseconds with any number of threads, by Amdahl's law through both measurements: a serial part and one
  /// that is shared by the threads.
  double nanoseconds(int measuredThreads, int threads) const;
};

/// The rates of sparse products in nanoseconds: for each row, of each multiplication in rows that are
/// computed one by one, of each pair of tiles that meets, of each entry of C, most of whose time goes into
/// fresh memory, and of each byte of A, B and C that goes to a GPU or comes back.
struct ProductRates {
  ThreadRate row, product, entry, tilePair; // CPU
  ThreadRate upload, download;
  double cudaProduct = 0, cudaTilePair = 0; // by the device's clock
};

/// The numbers of a machine by which `--device auto` decides (dox/Decisions/0025).
struct Calibration {
  static constexpr int version = 2;

  std::string source;    // file or "shipped rates", with what was not read of it, for messages
  std::string processor; // on which the rates were measured
  std::string gpu;       // the same; empty: the machine had none, and the rates of CUDA are the shipped ones
  int threads = 1;       // all threads
  double cpuSpeedup = 1; // how many times as fast they are as one, in work that needs little memory
  /// Nanoseconds of one thread for a sample that a metric on intensities compares, with its gradient:
  /// [3D][the transform is not linear][the samples are a lattice].
  double sample[2][2][2]{};
  double voxel = 0; // nanoseconds of one thread for a voxel resampled by linear interpolation and affine map
  double cudaStartSeconds = 0;      // that a process waits for its first work on a CUDA device
  double cudaEvaluationSeconds = 0; // of the cost, of whatever size
  double cudaByte = 0;              // nanoseconds for a byte to or from the device
  ProductRates products;

  /// How many times as fast a number of threads is as one, by Amdahl's law through cpuSpeedup.
  double speedup(int wanted) const
  {
    return 1 / ThreadRate{1, 1 / std::max(cpuSpeedup, 1.0)}.nanoseconds(threads, wanted);
  }
};

/// Predicted seconds for messages: three digits at most, in minutes from two minutes on, and in hours.
std::string timeText(double seconds);

/// The built-in calibration, of an NVIDIA H200 and 16 threads.
const Calibration& shippedCalibration();

/// Reads the text that calibrationText writes. The rates of CUDA are the shipped ones if the text has none.
/// Files of version 1 scale the shipped rates of the CPU. `source` tells how many lines were not read.
/// Throws Error(usage) with file and line for a later version and for an entry that is missing, negative or
/// longer than a second an item.
Calibration calibrationOf(const ParameterMap&);

/// The calibration as a parameter text, lines `(Name value)`.
std::string calibrationText(const Calibration&);

}
