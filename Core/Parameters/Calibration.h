#pragma once

#include "Core/Compute/Performance/GpuRates.h"
#include "Core/Parameters/ParameterMap.h"

#include <array>
#include <cstddef>
#include <string>

namespace tessera {

/// The kinds of work that resampling consists of. "Direct" work needs no mapped points: on the CPU rows under
/// linear transforms, on CUDA a linear map and at most one cubic B-spline in single precision. "Point" work
/// is done point by point in double precision.
enum class Work {
  directNearest,
  directLinear,
  directCubic,
  directMajority, // CUDA only
  directSpline,   // CUDA only: the cubic B-spline of a chain
  pointNearest,
  pointLinear,
  pointCubic,
  pointMajority,
  pointLinearTransform,
  pointAlignedSpline, // CPU only: a B-spline whose grid lies along the lattice's axes
  pointSpline,
  pointLandmark,      // one landmark of a landmark spline at one point
  prefilter,          // one voxel of the moving image for one pole; orders 2 and 3 have one pole, 4 and 5 two
  fieldDisplacements, // a B-spline along the lattice's axes, without copying the values to the host
  fieldDeterminants,
  fieldMatrices
};
constexpr std::size_t workCount = static_cast<std::size_t>(Work::fieldMatrices) + 1;

/// "DirectNearest", ...
const char* nameOf(Work);
/// Whether the CPU, or CUDA, does this kind of work.
bool isOfCpu(Work);
bool isOfCuda(Work);

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

/// The rates of one machine, by which `--device auto` predicts times.
struct Calibration {
  static constexpr int version = 1;
  struct OfDimension {
    std::array<ThreadRate, workCount> cpu{}; // ns an item: a voxel of the output if Work names no other
    std::array<double, workCount> cuda{};    // the same, by the device's clock
  };

  std::string source;          // file or "shipped rates", for messages
  std::string processor;       // on which the rates were measured
  std::string gpu;             // empty: the machine had none
  bool hasShippedCuda = false; // the CUDA rates were not measured on this machine
  int threads = 1;             // all threads, as ThreadRate counts them
  double cpuStartSeconds = 0;  // additional time of a process's first image
  double cudaStartSeconds = 0; // additional time of a process's first image on a CUDA device
  double cudaImageSeconds = 0; // additional time of each image on CUDA, of whatever size
  ThreadRate upload, download; // ns a byte between pageable host memory and the device; into new memory
  OfDimension ofDimension[2];  // 2D, 3D
  ProductRates products;

  OfDimension& of(int dimension) { return ofDimension[dimension - 2]; }
  const OfDimension& of(int dimension) const { return ofDimension[dimension - 2]; }

  /// This calibration with the shipped CUDA rates.
  Calibration withShippedCuda() const;
  /// This calibration with the shipped CUDA rates, scaled to another GPU: the rates of kernels go with its
  /// multiprocessors and their clock, no voxel takes less time than its bytes take in the GPU's memory and
  /// than its operations in double precision take, and no byte goes to the GPU or comes back faster than from
  /// pinned memory.
  Calibration scaledTo(const std::string& gpu, const GpuRates&) const;

  /// How much more time so many threads of this processor take than those of the shipped one: the geometric
  /// mean over the work of resampling in 3D that is most like a registration's, linear interpolation and
  /// B-splines. Rates that nobody measured here are scaled by it.
  double cpuScale(int threads) const;
  /// How many times as fast a number of threads is as one, in work that needs little memory.
  double cpuSpeedup(int threads) const;
  /// How much more time this GPU takes than the shipped one: the geometric mean over all kernels of
  /// resampling in 3D.
  double cudaScale() const;
  /// The rates of sparse products for another number of threads, of a CPU and of a GPU that take so many
  /// times as long.
  ProductRates scaledProducts(int threads, double ofCpu, double ofCuda) const;
};

/// Predicted seconds for messages: three digits at most, in minutes from two minutes on, and in hours.
std::string timeText(double seconds);

/// The built-in calibration, measured on an NVIDIA H200 and 16 threads.
const Calibration& shippedCalibration();

/// Reads the text that calibrationText writes. The CUDA rates are the shipped ones if the text has none, and
/// the rates of sparse products the scaled shipped ones.
/// Throws Error(usage) with file and line for another version and for an entry that is missing, not known,
/// negative or longer than a second an item.
Calibration calibrationOf(const ParameterMap&);

/// The calibration as a parameter text, lines `(Name value)`.
std::string calibrationText(const Calibration&);

}
