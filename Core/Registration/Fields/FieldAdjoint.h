#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Registration/FieldInterpolator.h"

#include <array>

namespace tessera {

/// How the many products of a control point are added up on CUDA.
enum class GradientSummation {
  /// Single precision; each product and sum is rounded once.
  fusedMultiplyAdd,
  /// Single precision; the rounding error of a sum goes into its next term (Kahan, "Further remarks on
  /// reducing truncation errors", 1965).
  kahan,
  /// Single precision; all rounding errors are summed separately and added at the end (Pichat, "Correction
  /// d'une somme en arithmetique a virgule flottante", 1972).
  pichat,
  doublePrecision,
};

/// Whether the numbers that a gradient held before are kept and added to, or replaced.
enum class GradientBefore { stays, goes };

/// The adjoint of FieldInterpolator::displacements: for each control point k and component c
///   gradient[c * pointCount() + k] += sum over voxels v of prod_d beta(index_d(v) - k_d) * factors[v] *
///   covectors[c][v],
/// where voxels outside of the grid's valid region have zero weights. With GradientBefore::goes, = replaces
/// +=. A field may be evaluated in slabs, whose gradients add up to the whole.
///
/// `covectors` are D arrays of voxelCount() finite values, x fastest; `factors` is one such array for all
/// components, or null if all factors are 1. They and the gradient (D * pointCount() values) are on the
/// context's device. The product of covector and factor is rounded to float, as if it had been computed
/// beforehand. Results have equal bits for any number of threads. The CPU always sums in double precision. On
/// CUDA a grid spacing of less than one voxel throws Error(usage).
template <int D>
void pullBackAlignedField(Context&, const AlignedField<D>&, const std::array<const float*, D>& covectors,
                          const float* factors, GradientSummation, double* gradient,
                          GradientBefore = GradientBefore::stays);

/// Bytes of device memory that pullBackAlignedFieldOnCuda takes while it runs, on any device.
template <int D>
std::size_t adjointBytes(const AlignedField<D>&, GradientSummation);

/// The form of pullBackAlignedField on CUDA.
template <int D>
TESSERA_CUDA_ONLY void
pullBackAlignedFieldOnCuda(Context&, const AlignedField<D>&, const std::array<const float*, D>& covectors,
                           const float* factors, GradientSummation, double* gradient, GradientBefore);

}
