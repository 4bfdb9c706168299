#pragma once

#include "Core/Image/ItkTransformFiles/ItkTransformFile.h"
#include "Core/Parameters/Parameters.h"
#include "Core/Registration/TransformParts.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tessera {

/// Lines of a transform parameter file: `(name value ...)`; text values are quoted by the writer.
struct FileEntry {
  std::string name;
  std::vector<std::string> texts; // if not empty, the values
  std::vector<double> numbers;    // otherwise
};

/// Maps points of the fixed space to the moving space (mm, LPS).
///
/// The model (grid, centre) is state; the parameter vector is an argument, so that a chain can hold constant
/// ones. Each call takes one batch on one thread of the CPU. A transform that can be registered is an
/// OptimizableTransform; parts that only some callers need are in TransformParts.h.
template <int D>
class Transform {
public:
  static constexpr const char* roleName = "Transform";
  virtual ~Transform() = default;

  /// Value of (Transform "...") in files.
  virtual std::string name() const = 0;
  virtual std::size_t parameterCount() const = 0;
  virtual void map(Context&, const ListSamples<D>&, std::span<const double> parameters,
                   const PointsOut<D>&) const = 0;

  /// The lines of a transform parameter file that only this transform has (centre, grid, ...).
  virtual std::vector<FileEntry> fileEntries() const = 0;
  /// The comment line above fileEntries. For some transforms elastix writes another name than name().
  virtual std::string fileHeading() const { return name() + " specific"; }
  /// Sets the model from a transform parameter file and returns its parameters. The context is on the CPU.
  virtual std::vector<double> restore(const Context&, const Parameters& transformFile) = 0;
  /// The transform as ITK writes it. Throws Error(unwritableOutput) if ITK has no such transform.
  virtual ItkTransform itkTransform(std::span<const double> parameters) const;

  /// About how many times as long as a linear interpolation map() takes for a point: as a linear map, unless
  /// the transform says otherwise.
  virtual double mappingWork() const { return 0.1; }

  virtual const SpatialDerivatives<D>* differentiable() const { return nullptr; }
  virtual const LinearForm<D>* linear() const { return nullptr; }
  virtual const FieldForm<D>* field() const { return nullptr; }
  virtual const CudaForm<D>* cudaForm() const { return nullptr; }
};

/// A transform with its parameters after constant ones: T(x) = T1(T0(x)) or T0(x) + T1(x) - x.
template <int D>
struct TransformChain {
  ChainPointer<D> initial = {}; // null: T0 is the identity
  Combination combination = Combination::compose;
  std::shared_ptr<const Transform<D>> transform;
  std::vector<double> parameters = {};
};

/// The points at which `chain.transform` itself is evaluated: T0(x) for compose, x for add or without
/// initial. The output may be the array of points.
template <int D>
void mapInitial(Context&, const TransformChain<D>& chain, const ListSamples<D>&, const PointsOut<D>&);

/// T(x) for one batch (at most batchCapacity points). `in` and `out` may be the same arrays.
template <int D>
void mapChain(Context&, const TransformChain<D>& chain, const ListSamples<D>&, const PointsOut<D>&);

/// dT/dx and, if hessian is not null, second derivatives of the whole chain; layouts as in
/// SpatialDerivatives. Throws Error(usage) if a transform of the chain has no derivatives.
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

/// Whether all transforms of the chain are linear. A null chain counts as linear.
template <int D>
bool isLinearChain(const TransformChain<D>*);

/// Where a chain maps a point of the fixed space, in mm; many points at a time take less by mapChain.
template <int D>
Vec<D> mappedPoint(const TransformChain<D>& chain, Vec<D> pointMm, Context context = {})
{
  ListSamples<D> point;
  PointsOut<D> mapped;
  for (int d = 0; d < D; ++d)
    point.pointMm[d] = mapped[d] = &pointMm[d];
  point.count = 1;
  mapChain<D>(context, chain, point, mapped);
  return pointMm;
}

}
