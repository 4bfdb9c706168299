#pragma once

#include "Core/Compute/Math/SmallMatrix.h"
#include "Core/Image/ImageGeometry.h"
#include "Core/Registration/FieldInterpolator.h"
#include "Core/Registration/Samples/Samples.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>

// Optional parts of a transform. A caller asks the transform for a part and gets null if the transform has
// none.
namespace tessera {

template <int D>
struct TransformChain;
template <int D>
using ChainPointer = std::shared_ptr<const TransformChain<D>>;
template <int D>
struct BSplineGrid;
template <int D>
class InverseTransform;
enum class RootQuantity;

/// How a transform is joined to the transforms before it: T1(T0(x)) or T0(x) + T1(x) - x.
enum class Combination { compose, add };

/// First and second derivatives of T(x) with respect to x, for a batch of samples.
template <int D>
class SpatialDerivatives {
public:
  /// jacobian[(row * D + column) * count + i] = dT_row/dx_column at sample i.
  /// hessian[(k * symmetricCount(D) + s) * count + i] = second derivative of T_k in 1/mm, where s counts the
  /// upper triangle (0,0) (0,1) .. (D-1,D-1) row by row. A null hessian is not computed.
  virtual void spatialDerivatives(Context&, const ListSamples<D>&, std::span<const double> parameters,
                                  double* jacobian, double* hessian) const = 0;
  /// gradient += sum over samples of <covJacobian, d jacobian/d mu> + <covHessian, d hessian/d mu>, in the
  /// same layouts. covHessian multiplies each stored (upper) entry once; either array may be null.
  virtual void pullBackSpatialDerivatives(Context&, const ListSamples<D>&, std::span<const double> parameters,
                                          const double* covJacobian, const double* covHessian,
                                          std::span<double> gradient) const = 0;
  /// False if the Hessian is zero everywhere.
  virtual bool hasHessian() const = 0;

protected:
  ~SpatialDerivatives() = default;
};

/// Sums over samples x with covectors v, from which the gradient of any linear transform about the centre c
/// follows.
template <int D>
struct CovectorMoments {
  Vec<D> sum{};      // sum of v
  Matrix<D> outer{}; // sum of v (x - c)^T
};

/// T(x) = A x + b with A and b functions of the parameters.
template <int D>
class LinearForm {
public:
  /// A and b, from mm to mm.
  virtual AffineMap<D> pointMap(std::span<const double> parameters) const = 0;
  /// The point c about which the sums of pullBackMoments are taken.
  virtual const Vec<D>& centerMm() const = 0;
  /// OptimizableTransform::pullBack from sums over all samples: adds to the gradient of the parameters.
  virtual void pullBackMoments(std::span<const double> parameters, const CovectorMoments<D>&,
                               std::span<double> gradient) const = 0;

protected:
  ~LinearForm() = default;
};

template <int D>
class ChainPasses;

/// What CUDA kernels beside those of ChainPasses compute of a chain that ends in this transform.
template <int D>
class OtherKernels {
public:
  /// The quantity at all voxels of a lattice, in host memory, for an InverseTransform of such a chain;
  /// computed in slabs. Throws Error(device) if the kernels cannot evaluate the chain.
  virtual void fieldOfInverse(Context&, const InverseTransform<D>&, const ImageGeometry<D>& lattice,
                              RootQuantity, std::span<float> values) const = 0;

protected:
  ~OtherKernels() = default;
};

/// How CUDA kernels evaluate a chain that ends in this transform.
template <int D>
class CudaForm {
public:
  /// Empty if kernels can evaluate the chain; otherwise what they cannot evaluate: `the transform "..."`.
  virtual std::string whyNot(const TransformChain<D>&) const = 0;
  /// Copies the chain to the device, also to that of a MemoryCount.
  virtual std::unique_ptr<ChainPasses<D>> passes(const Context&, const TransformChain<D>&) const = 0;
  /// Whether images are resampled through such a chain on CUDA.
  virtual bool resamples() const { return true; }
  /// Null if kernels outside of passes() cannot evaluate the chain.
  virtual const OtherKernels<D>* otherKernels() const = 0;

protected:
  ~CudaForm() = default;
};

/// T(x) - x as a B-spline field whose coefficients are the transform's parameters.
template <int D>
class FieldForm {
public:
  virtual const BSplineGrid<D>& grid() const = 0;
  /// The field at the voxels of a lattice, or nothing if the spline's grid does not run along the lattice's
  /// axes.
  virtual std::optional<AlignedField<D>> alignedField(const ImageGeometry<D>& lattice) const = 0;
  /// The value of (FieldInterpolator "..."): the method that evaluates the field.
  virtual std::string fieldInterpolator() const = 0;

protected:
  ~FieldForm() = default;
};

/// The matrix of point i in the layout of SpatialDerivatives::spatialDerivatives, for `count` points.
template <int D>
Matrix<D> jacobianAt(const double* jacobians, std::size_t count, std::size_t i)
{
  Matrix<D> m;
  for (int entry = 0; entry < D * D; ++entry)
    m[entry / D][entry % D] = jacobians[entry * count + i];
  return m;
}

}
