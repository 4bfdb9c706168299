#pragma once

#include <cstddef>

namespace tessera {

/// The sizes of a level, from which a term of the cost tells what an evaluation takes.
struct TermSize {
  std::size_t level = 0;
  double samples = 0;     // of its sampler
  bool isLattice = false; // the samples are a lattice of voxels
  double parameters = 0;  // of the transform
  bool isLinear = true;   // the transform
  bool hasMasks = false;  // of either image
  double pointPairs = 0;  // -fp and -mp
};

/// The time of an evaluation of a term with its gradient, for predictions (dox/Decisions/0025): of one thread
/// of the Xeon beside an H100, and of an NVIDIA H200. Predictions scale them to other machines.
struct TermTime {
  /// The samples that it compares with the interpolated moving image as image metrics do. What mapping,
  /// interpolating and the way back to the parameters take is not the term's to tell.
  double samples = 0;
  /// Points that it maps one by one on the CPU, and their way back, whether they are a lattice or not.
  double points = 0;
  /// Samples beside `samples` that it compares on CUDA.
  double cudaSamples = 0;
  double cpuNanoseconds = 0;        // all else; threads share it
  double cudaNanoseconds = 0;       // all else
  double cudaLaunchNanoseconds = 0; // of launches that a metric does not have, the same on all GPUs
};

/// The time of a pair of intensities in an evaluation of a metric with its slopes, in the units of TermTime.
struct PairTime {
  double cpuNanoseconds = 0, cudaNanoseconds = 0;
};

}
