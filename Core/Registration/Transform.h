#pragma once

#include "Core/Image/Files/ItkTransformFile.h"
#include "Core/Parameters/Parameters.h"
#include "Core/Registration/Chain/TransformOnCuda.h"
#include "Core/Registration/FieldInterpolator.h"
#include "Core/Registration/Samples/Samples.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tessera {

template <int D>
struct TransformChain;

/// Statistics of the Jacobian dT/dmu over n samples (Qiao et al., "Fast automatic step size estimation for
/// gradient descent optimization of image registration", 2016; Klein et al., ASGD, 2009), J scaled by
/// 1/sqrt(scale).
struct JacobianTerms {
  double traceC = 0;      // C = 1/n sum J^T J
  double frobeniusC2 = 0; // |C|_F^2
  double maxJJ = 0;       // max_j (|J_j|_F^2 + 2 sqrt(2) |J_j J_j^T|_F)
  double maxJCJ = 0;      // max_j (tr(J_j C J_j^T) + 2 sqrt(2) |J_j C J_j^T|_F)
};

/// What a transform may look at to find its start.
template <int D>
struct TransformStart {
  ImagePointer<D> fixed, moving;              // full resolution, first of each
  MaskPointer<D> fixedMask, movingMask;       // null: none
  const TransformChain<D>* initial = nullptr; // null: none; otherwise no automatic initialization
  const PointPairs<D>* points = nullptr;      // -fp, -mp; null: none
};

/// Lines of a transform parameter file: `(name value ...)`; text values are quoted by the writer.
struct FileEntry {
  std::string name;
  std::vector<std::string> texts; // if not empty, the values
  std::vector<double> numbers;    // otherwise
};

/// A transform in the memory of a CUDA device while a level runs, its parameters open.
template <int D>
class HeldTransformOnCuda {
public:
  virtual ~HeldTransformOnCuda() = default;
  /// For kernels; `parameters` on the device, not read if they are constant.
  virtual TransformOnCuda<D> at(const Context&, std::span<const double> parameters) = 0;
};

constexpr int symmetricCount(int dimension)
{
  return dimension * (dimension + 1) / 2;
}

/// Maps points of the fixed space to the moving space (mm, LPS) and back-propagates through that map.
///
/// The model (grid, centre) is state; the parameter vector is an argument, so that a chain can hold constant
/// ones. On the CPU each call is one batch on one thread; on CUDA it is all samples on ctx.stream.
template <int D>
class Transform {
public:
  static constexpr const char* roleName = "Transform";
  virtual ~Transform() = default;

  /// Value of (Transform "...") in files.
  virtual std::string name() const = 0;
  virtual std::size_t parameterCount() const = 0;
  /// False for transforms that only come from files; all that serves optimization then throws Error(usage).
  virtual bool canBeOptimized() const { return true; }

  /// True if it starts from TransformStart::points.
  virtual bool needsLandmarks() const { return false; }

  /// Sets centre or grid for the first level and returns the first parameters.
  virtual std::vector<double> initialize(Context&, const TransformStart<D>&) = 0;
  /// Before a level: refines the model, carrying `parameters` over (grid schedules).
  virtual void prepareForLevel(Context&, std::size_t level, std::vector<double>& parameters) = 0;
  /// The same transform with the models that prepareForLevel will give it, but without parameters, one a
  /// level; none: its own does not change. `initial` as TransformStart has it.
  virtual std::vector<std::shared_ptr<const Transform<D>>>
  modelsOfLevels(Context&, const ImageGeometry<D>& /*fixed*/, const TransformChain<D>* /*initial*/) const
  {
    return {};
  }
  /// Divisors of the squared parameters for the optimizer; `samples` are grid samples of the full fixed image
  /// mapped by whatever comes before this transform. Reads AutomaticScalesEstimation and Scales.
  virtual std::vector<double> scales(Context&, const ListSamples<D>& samples,
                                     std::span<const double> parameters) const = 0;

  /// True if scales() must be asked again at each level (the parameter vector changes with the grid).
  virtual bool scalesFollowLevels() const { return false; }

  virtual void map(Context&, const Samples<D>&, std::span<const double> parameters,
                   const PointsOut<D>&) const = 0;
  /// gradient += sum over samples of J^T v.
  virtual void pullBack(Context&, const Samples<D>&, std::span<const double> parameters, const Covectors<D>&,
                        std::span<double> gradient) const = 0;
  /// J step, per sample.
  virtual void pushForward(Context&, const Samples<D>&, std::span<const double> parameters,
                           std::span<const double> step, const PointsOut<D>&) const = 0;
  /// Over all given samples at once (not a batch; uses ctx.threads itself).
  virtual JacobianTerms jacobianTerms(Context&, const ListSamples<D>&, std::span<const double> parameters,
                                      std::span<const double> scales) const = 0;

  /// jacobian[(row * D + column) * count + i] = dT_row/dx_column at sample i.
  /// hessian[(k * symmetricCount(D) + s) * count + i] = second derivative of T_k, s over (0,0) (0,1) ..
  /// (D-1,D-1) row-wise upper; null: not asked.
  virtual void spatialDerivatives(Context&, const Samples<D>&, std::span<const double> parameters,
                                  double* jacobian, double* hessian) const = 0;
  /// gradient += sum over samples of <covJacobian, d jacobian/d mu> + <covHessian, d hessian/d mu>; same
  /// layouts; covHessian multiplies the stored (upper) entries once; either may be null.
  virtual void pullBackSpatialDerivatives(Context&, const Samples<D>&, std::span<const double> parameters,
                                          const double* covJacobian, const double* covHessian,
                                          std::span<double> gradient) const = 0;
  /// False if the Hessian is zero everywhere.
  virtual bool hasHessian() const = 0;

  /// How kernels evaluate it, none if they cannot.
  virtual CudaForm cudaForm() const { return CudaForm::none; }
  /// Null if kernels need no more than parameters. `constant`: its parameters, on the host, if they stay as
  /// they are, else empty.
  virtual std::unique_ptr<HeldTransformOnCuda<D>> holdOnCuda(const Context&,
                                                             std::span<const double> /*constant*/) const
  {
    return nullptr;
  }
  /// What a chain holds of the device for it, beside the parameters that an optimizer has; isConstant: its
  /// parameters stay as they are.
  virtual double deviceBytes(bool isConstant) const
  {
    return isConstant && cudaForm() != CudaForm::linear
               ? static_cast<double>(parameterCount()) * sizeof(double)
               : 0;
  }
  /// For kernels, without holdOnCuda: `parameters` on the host for a linear transform, on the device for all
  /// others.
  virtual TransformOnCuda<D> onCuda(std::span<const double> /*parameters*/) const { return {}; }
  /// pullBack of a linear transform from what kernels have summed; parameters and gradient on the host.
  virtual void pullBackMoments(std::span<const double> /*parameters*/, const CovectorMoments<D>&,
                               std::span<double> /*gradient*/) const
  {
  }

  /// T(x) - x in the voxels of a lattice if that is a B-spline along the lattice's axes with the parameters
  /// as coefficients.
  virtual std::optional<AlignedField<D>> alignedField(const ImageGeometry<D>& /*lattice*/) const
  {
    return {};
  }
  /// Value of (FieldInterpolator "..."): what is to evaluate that.
  virtual std::string fieldInterpolator() const { return "auto"; }

  /// Lines specific to this transform in a transform parameter file (centre, grid, ...).
  virtual std::vector<FileEntry> fileEntries() const = 0;
  /// Sets the model from a transform parameter file and returns its parameters.
  virtual std::vector<double> restore(const Parameters& transformFile) = 0;
  /// Comment line above fileEntries: "EulerTransform specific"; elastix writes "AdvancedAffineTransform
  /// specific" for affine.
  virtual std::string fileHeading() const { return name() + " specific"; }

  /// As ITK writes it. Throws Error(unwritableOutput) if ITK has no such transform.
  virtual ItkTransform itkTransform(std::span<const double> parameters) const = 0;
};

/// A transform with its parameters after constant ones: T(x) = T1(T0(x)) or T0(x) + T1(x) - x.
template <int D>
struct TransformChain {
  std::shared_ptr<const TransformChain<D>> initial; // null: T0 is the identity
  Combination combination = Combination::compose;
  std::shared_ptr<const Transform<D>> transform;
  std::vector<double> parameters;
};

/// Points where `chain.transform` itself is asked: T0(x) for compose, x for add or without initial. In place
/// is allowed.
template <int D>
void mapInitial(Context&, const TransformChain<D>& chain, const ListSamples<D>&, const PointsOut<D>&);

/// T(x). `in` and `out` may be the same arrays. One batch (at most batchCapacity).
template <int D>
void mapChain(Context&, const TransformChain<D>& chain, const ListSamples<D>&, const PointsOut<D>&);

/// dT/dx and, if hessian is not null, second derivatives of the whole chain; layouts as
/// Transform::spatialDerivatives.
template <int D>
void chainSpatialDerivatives(Context&, const TransformChain<D>& chain, const ListSamples<D>&,
                             double* jacobian, double* hessian);

/// Back-propagation of chainSpatialDerivatives to the parameters of the last transform of the chain.
template <int D>
void pullBackChainSpatialDerivatives(Context&, const TransformChain<D>& chain, const ListSamples<D>&,
                                     const double* covJacobian, const double* covHessian,
                                     std::span<double> gradient);

/// True if any transform of the chain has a Hessian.
template <int D>
bool chainHasHessian(const TransformChain<D>& chain);

}
