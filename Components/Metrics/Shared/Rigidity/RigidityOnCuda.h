#pragma once

#include "Components/Metrics/Shared/Rigidity/RigidityImages.h"
#include "Components/Metrics/Shared/Rigidity/RigidityKernels.h"
#include "Components/Metrics/Shared/Rigidity/RigidityOnCpu.h"
#include "Components/Transforms/BSplineTransform.h"
#include "Core/Compute/Memory/PinnedValues.h"

namespace tessera {

/// TransformRigidityPenalty on a CUDA device, for a level. It takes 8 (D rigidityCovectors + 1) bytes for
/// each control point.
template <int D>
class RigidityOnCuda {
public:
  RigidityOnCuda(const Context&, const RigidityGrid<D>&, const RigidityImages<D>&,
                 const BSplineTransform<D>&);

  /// Coefficients and gradient lie on the device. The gradient is overwritten unless it is empty.
  void enqueue(Context&, std::span<const double> coefficients, const RigidityWeights&,
               std::span<double> gradient);
  /// The result of enqueue; valid once the stream has been waited for.
  const RigiditySums& sums() const { return found_[0].sums; }

private:
  RigidityGrid<D> grid_;
  RigidityOfPoints<D> rigidity_;
  std::unique_ptr<HeldTransformOnCuda<D>> transform_;
  Buffer<double> ofControlPoints_;
  std::shared_ptr<const Buffer<float>> movingVoxels_;
  Buffer<double> covectors_, scratch_;
  Buffer<RigidityResult> result_;
  PinnedValues<RigidityResult> found_;
};

}
