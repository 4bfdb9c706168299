#pragma once

#include "Core/Parameters/ParameterMap.h"

#include <array>
#include <cstddef>
#include <string>

namespace tessera {

/// What resampling consists of, in the order of the tables below. "Direct" is what goes without points: on
/// the CPU rows under linear transforms, on CUDA what a linear map and one cubic B-spline come to, in single
/// precision. "Point" is one point after another in double.
enum class Work {
  directNearest,
  directLinear,
  directCubic,
  directMajority,      // CUDA
  directAlignedSpline, // CUDA: a cubic B-spline whose grid lies along the lattice's axes
  directSpline,        // CUDA: any other
  pointNearest,
  pointLinear,
  pointCubic,
  pointMajority,
  pointLinearTransform,
  pointAlignedSpline, // CPU
  pointSpline,
  pointLandmark,      // of a spline of landmarks, each
  prefilter,          // a voxel of the moving image and a pole: orders 2 and 3 have one, 4 and 5 two
  fieldDisplacements, // of a B-spline along the lattice's axes, the values' way to the host apart
  fieldDeterminants,
  fieldMatrices
};
constexpr std::size_t workCount = static_cast<std::size_t>(Work::fieldMatrices) + 1;

/// "DirectNearest", ...
const char* nameOf(Work);
/// Whether a device does it at all.
bool isOfCpu(Work);
bool isOfCuda(Work);

/// Nanoseconds an item with one thread and with all of those that it was measured with.
struct ThreadRate {
  double oneThread = 0, allThreads = 0;

  /// With any number of threads: a part that does not share out and one that does (Amdahl), through both
  /// measurements.
  double nanoseconds(int measuredThreads, int threads) const;
};

/// Rates of one machine, by which `--device auto` tells what takes less time.
struct Calibration {
  static constexpr int version = 1;
  struct OfDimension {
    std::array<ThreadRate, workCount> cpu{}; // ns a voxel of the output, or what else the work says
    std::array<double, workCount> cuda{};    // the same by the device's clock
  };

  std::string source;          // where it comes from, for people
  std::string processor;       // that the rates were measured on
  std::string gpu;             // empty: none was there
  bool hasShippedCuda = false; // rates of CUDA are not its own
  int threads = 1;             // of ThreadRate
  double cpuStartSeconds = 0;  // of a process's first image, beside what later ones take
  double cudaStartSeconds =
      0; // until a CUDA device that the process has not used before has done a first image
  double cudaImageSeconds = 0; // of an image of no size on CUDA
  ThreadRate upload,
      download; // ns a byte between ordinary memory of the host and the device; fresh memory on the way back
  OfDimension ofDimension[2]; // 2D, 3D

  OfDimension& of(int dimension) { return ofDimension[dimension - 2]; }
  const OfDimension& of(int dimension) const { return ofDimension[dimension - 2]; }

  /// The same with the shipped rates of CUDA.
  Calibration withShippedCuda() const;
};

/// What is built in: an NVIDIA H200 and 16 threads.
const Calibration& shippedCalibration();

/// Reads the text that calibrationText writes; CUDA's rates are the shipped ones if it has none. Throws
/// Error(usage) naming file and line: another version, an entry that is missing, not known, or no number from
/// 0.
Calibration calibrationOf(const ParameterMap&);

/// A parameter text: `(Name value)`.
std::string calibrationText(const Calibration&);

/// $TESSERA_CALIBRATION, else $XDG_CONFIG_HOME/tessera/calibration.txt, else
/// ~/.config/tessera/calibration.txt; empty without a home.
std::string calibrationPath();

/// That of calibrationPath(); if no such file is there, the shipped one, unless $TESSERA_CALIBRATION names
/// it: then Error(usage).
Calibration storedCalibration();

}
