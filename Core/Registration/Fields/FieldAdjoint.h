#pragma once

#include "Core/Compute/CudaOnly.h"
#include "Core/Registration/FieldInterpolator.h"

#include <array>

namespace tessera {

/// How the many terms of a control point are added up on CUDA.
enum class GradientSummation {
  fusedMultiplyAdd, // single precision, each product and sum rounded once
  kahan,  // single precision, the rounding of a sum goes into the next term (Kahan, "Further remarks on
          // reducing truncation errors", 1965)
  pichat, // single precision, all roundings are summed on their own and added at the end (Pichat, "Correction
          // d'une somme en arithmetique a virgule flottante", 1972)
  doublePrecision,
};

/// Whether the numbers that a gradient held before are kept and added to, or replaced.
enum class GradientBefore { stays, goes };

/// The adjoint of FieldInterpolator::displacements: for each control point k and component c
///   gradient[c * pointCount() + k] += sum over voxels v of prod_d beta(index_d(v) - k_d) * factors[v] *
///   covectors[c][v],
/// where voxels outside of the valid region weigh nothing. Slabs of a field add up to it.
/// GradientBefore::goes: = for +=.
///
/// covectors: D arrays of voxelCount() finite values, x fastest; factors: one such array for all components,
/// or null: all are 1. They and the gradient (D * pointCount() values) are on the context's device. Products
/// of both are rounded to float, so the sums are those of covectors that were multiplied beforehand. Equal
/// bits for any thread count. On the CPU sums are in double precision whatever the summation. On CUDA a grid
/// spacing of less than one voxel throws Error(usage).
template <int D>
void pullBackAlignedField(Context&, const AlignedField<D>&, const std::array<const float*, D>& covectors,
                          const float* factors, GradientSummation, double* gradient,
                          GradientBefore = GradientBefore::stays);

/// Bytes of device memory that pullBackAlignedFieldOnCuda takes while it runs, on any device.
template <int D>
double adjointBytes(const AlignedField<D>&, GradientSummation);

/// The form of pullBackAlignedField on CUDA.
template <int D>
TESSERA_CUDA_ONLY void
pullBackAlignedFieldOnCuda(Context&, const AlignedField<D>&, const std::array<const float*, D>& covectors,
                           const float* factors, GradientSummation, double* gradient, GradientBefore);

}
