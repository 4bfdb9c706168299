#pragma once

#include "Core/Registration/Transform.h"

namespace tessera {

/// Statistics of the Jacobian J = dT/dmu over n samples, with J scaled by 1/sqrt(scale) (Klein et al.,
/// "Adaptive stochastic gradient descent optimisation for image registration", 2009; Qiao et al., "Fast
/// automatic step size estimation for gradient descent optimization of image registration", 2016).
struct JacobianTerms {
  double traceC = 0;      // C = 1/n sum J^T J
  double frobeniusC2 = 0; // |C|_F^2
  double maxJJ = 0;       // max_j (|J_j|_F^2 + 2 sqrt(2) |J_j J_j^T|_F)
  double maxJCJ = 0;      // max_j (tr(J_j C J_j^T) + 2 sqrt(2) |J_j C J_j^T|_F)
};

/// The data from which a transform may compute its first parameters.
template <int D>
struct TransformStart {
  ImagePointer<D> fixed, moving;        // at full resolution, the first image of each side
  MaskPointer<D> fixedMask, movingMask; // null: none
  /// Null: none; if there is one, the start is not initialized automatically.
  const TransformChain<D>* initial = nullptr;
  const PointPairs<D>* points = nullptr; // -fp, -mp; null: none
};

/// A transform whose parameters an optimizer may change.
template <int D>
class OptimizableTransform : public Transform<D> {
public:
  /// True if it starts from TransformStart::points.
  virtual bool needsLandmarks() const { return false; }
  /// Sets centre or grid for the first level and returns the first parameters. On the context of a
  /// MemoryCount images may have no voxels, points may be equal, and only the parameters' number counts.
  virtual std::vector<double> initialize(Context&, const TransformStart<D>&) = 0;
  /// Goes on from `parameters` of a transform of the same name, which an earlier run has found, in place of
  /// initialize(): sets the model for a level and returns the parameters there. A linear transform takes the
  /// other one's centre. A grid is laid as always; with as many control points as the other's it takes their
  /// parameters one by one, so that a deformation goes with the transforms before it; otherwise the
  /// displacement is resampled. Throws Error(usage) if the two models do not go together.
  virtual std::vector<double> takeOver(Context&, const TransformStart<D>&, std::size_t level,
                                       const Transform<D>& other, std::span<const double> parameters);
  /// Refines the model before a level, carrying `parameters` over (grid schedules).
  virtual void prepareForLevel(Context&, std::size_t level, std::vector<double>& parameters) = 0;

  /// The scales by which squared parameters are divided for the optimizer. `samples` are grid samples of the
  /// full fixed image, mapped by the transforms before this one; none where scalesFollowLevels(). It reads
  /// AutomaticScalesEstimation and Scales.
  virtual std::vector<double> scales(Context&, const ListSamples<D>& samples,
                                     std::span<const double> parameters) const = 0;
  /// True if scales() must be called again at each level, because the parameters change with the grid.
  virtual bool scalesFollowLevels() const { return false; }

  /// gradient += sum over samples of J^T v, with covectors v. This is the adjoint of pushForward.
  virtual void pullBack(Context&, const ListSamples<D>&, std::span<const double> parameters,
                        const Covectors<D>&, std::span<double> gradient) const = 0;
  /// Computes J step for each sample.
  virtual void pushForward(Context&, const ListSamples<D>&, std::span<const double> parameters,
                           std::span<const double> step, const PointsOut<D>&) const = 0;
  /// Takes all samples at once, not a batch, and uses the context's threads.
  virtual JacobianTerms jacobianTerms(Context&, const ListSamples<D>&, std::span<const double> parameters,
                                      std::span<const double> scales) const = 0;
};

/// The transform as one that an optimizer may change. Throws Error(usage) if it only comes from files.
template <int D>
OptimizableTransform<D>& optimizable(Transform<D>&);
template <int D>
const OptimizableTransform<D>& optimizable(const Transform<D>&);

}
