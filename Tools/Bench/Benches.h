#pragma once

#include "Core/Compute/Context.h"
#include "Core/Registry/Registry.h"
#include "Tools/Bench/BenchReport.h"
#include "Tools/Common/Process.h"

#include <array>
#include <string>
#include <vector>

// What tessera-bench measures.

namespace tessera {

struct LatticeSettings {
  std::vector<std::array<int, 3>> volumes;
  std::size_t repeats = 11;
};

/// Measures value and gradient of the exact bending energy of cubic grids, beside a copy of the coefficients.
/// Volumes are control points.
std::vector<BenchResult> bendingBench(Context&, const LatticeSettings&);

/// The settings of measuring dense cubic B-spline fields by every FieldInterpolator, beside a fill and a
/// copy.
struct BsiSettings {
  std::vector<std::array<int, 3>> volumes; // in voxels
  std::vector<double> tiles;               // spacing of control points in voxels
  std::vector<std::string> methods;        // empty: all methods of the device
  bool layouts = false;                    // measure interleaved fields, too
  bool explain = false;                    // with tables of what limits each method
  std::size_t repeats = 11;
};

/// Measures all volumes and tiles. Where all methods are asked for, those of the CPU have a plain loop beside
/// them; the ratio is its time, on CUDA that of ThreadPerVoxel, to this time.
BenchReport bsiBench(const Registry&, Context&, const BsiSettings&);

/// Measures the adjoint of dense cubic B-spline fields by each GradientSummation, beside a copy one way; on
/// the CPU, which always sums in double precision, by that one. Errors are relative to the mean magnitude of
/// the gradient on the CPU; the ratio is the time of Double to this time.
std::vector<BenchResult> adjointBench(Context&, const BsiSettings&);

/// Measures landmarks: 300 and 4000 tracked by structure tensors in 25x13x17 candidates of an image of
/// 256x256x94 voxels, images compared, splines fitted, and the displacements of splines on whole lattices,
/// which the volumes are, in voxels of 1 mm. Errors of fields are those against the spline in double
/// precision, in mm, at 4000 voxels; mismatches of tracking are landmarks that miss a planted shift, and its
/// ratio is the time of one thread of the CPU to this time.
BenchReport landmarkBench(Context&, const LatticeSettings&);

/// The settings of measuring filters along lines and Gaussian pyramids of four levels (factors 8 4 2 1,
/// sigmas 4 2 1 0 voxels), beside ITK's own filters with as many threads. Source: D. P. Shamonin, M. Staring:
/// An OpenCL implementation of the Gaussian pyramid and the resampler, 2012, tables 2 and 3.
struct PyramidSettings {
  std::vector<std::vector<std::size_t>> volumes; // two or three extents each
  bool withItk = true;
  std::size_t repeats = 11;
};

/// Measures all volumes. On CUDA, a filter's row has the time of its kernels; a pyramid has rows for its
/// kernels, and from host memory to host memory with pinned and with pageable memory. Bytes and shares count
/// one read and one write for each pass. Errors are relative to the intensity range; the ratio is ITK's time
/// to this time.
std::vector<BenchResult> pyramidBench(Context&, const PyramidSettings&);

/// The settings of measuring how images are resampled onto their own grid, beside ITK's filter with as many
/// threads. Source: D. P. Shamonin, M. Staring: An OpenCL implementation of the Gaussian pyramid and the
/// resampler, 2012, tables 4 to 8.
struct ResampleSettings {
  std::vector<std::vector<std::size_t>> volumes; // two or three extents each
  // Words for benchChain. In brackets, ITK puts even a single transform into a composite.
  std::vector<std::string> transforms;
  std::vector<std::string> interpolators; // nearest, linear or cubic
  bool withItk = true;
  std::size_t repeats = 11;
};

/// The extents in a text such as "256x256" or "512x512x256". Throws Error(usage).
std::vector<std::size_t> extentsOf(const std::string& text);

/// Measures all volumes. Each case has rows "whole" (from host memory to host memory; on CUDA from pageable
/// and from pinned memory, and to pixels of two bytes), rows of its parts (with shares relative to a copy of
/// 4 bytes for each voxel), and "ITK". The ratio is ITK's time to this time. Errors are relative to the
/// intensity range, over the voxels that both put inside the image. Mismatches are voxels that only one of
/// them puts inside and, for the nearest voxel, voxels with different intensities.
std::vector<BenchResult> resampleBench(const Registry&, Context&, const ResampleSettings&);

/// The settings of measuring products A A of sparse matrices by several methods, whose results are compared.
/// Bytes count A once and C once.
struct SpGemmBenchSettings {
  std::vector<std::string> matrices; // names of benchmark matrices, or files
  std::vector<std::string> methods;  // names from SpGemmMethods.h
  bool singlePrecision = true;
  bool half = false; // values are rounded to half precision before the measurement
  std::size_t repeats = 11;
  std::vector<Device> devices = {}; // for the method several-devices; the others use the context's
  bool tables = false;              // the matrices are those of the publication's table
  std::string folder = {};          // with files of these matrices; empty: none
};

/// Measures all matrices by all methods. Throws Error(device) if methods disagree about C. A method that
/// cannot compute a product is reported on standard error and left out.
BenchReport spGemmBench(Context&, const SpGemmBenchSettings&);

/// Measures R A P for the levels of smoothed aggregation, with a plan and again for other values: linear
/// elasticity and the Poisson equation on grids of nodes, which the volumes are (none: 24 x 24 x 23 and
/// 64^3). On the CPU with one thread and with all; on CUDA, where all matrices stay on the device, beside
/// cuSPARSE's interface for other values, with the parts of one more execution. The ratio is cuSPARSE's time
/// to this time.
BenchReport galerkinBench(Context&, const LatticeSettings&);

/// The options of tessera-bench and its help.
ProgramText benchText();

}
