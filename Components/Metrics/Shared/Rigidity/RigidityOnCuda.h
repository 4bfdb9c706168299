#pragma once

#include "Components/Metrics/Shared/Rigidity/RigidityImages.h"
#include "Components/Metrics/Shared/Rigidity/RigidityKernels.h"
#include "Components/Metrics/Shared/Rigidity/RigidityOnCpu.h"
#include "Components/Transforms/BSplineTransform.h"
#include "Core/Compute/Memory/PinnedValues.h"
#include "Core/Image/Voxels/VoxelsOnCuda.h"

#include <algorithm>

namespace tessera {

/// TransformRigidityPenalty on a CUDA device, for a level. It takes 8 (D rigidityCovectors + 1) bytes for
/// each control point.
template <int D>
class RigidityOnCuda {
public:
  RigidityOnCuda(const Context& context, const RigidityGrid<D>& grid, const RigidityImages<D>& images,
                 const BSplineTransform<D>& transform)
      : grid_(grid), transform_(transform.hold(context, {})),
        covectors_(context, D * rigidityCovectors<D> * static_cast<std::size_t>(grid.pointCount())),
        scratch_(context, rigidityScratch), result_(context, 1), found_(context, 1)
  {
    ofControlPoints_.fromHost(context, images.fixedValues());
    rigidity_.ofControlPoints = std::as_const(ofControlPoints_).span().data();
    rigidity_.pointFromIndex = transform.grid().points.pointFromIndex();
    if (!images.hasMoving())
      return;
    movingVoxels_ = voxelsOnCuda<D>(context, images.moving());
    rigidity_.movingVoxels = movingVoxels_->span().data();
    rigidity_.movingIndex = images.moving()->geometry.pointToIndex();
    std::ranges::copy(images.moving()->geometry.size, rigidity_.movingSize.begin());
  }

  /// Coefficients and gradient lie on the device. The gradient is overwritten unless it is empty.
  void enqueue(Context& context, std::span<const double> coefficients, const RigidityWeights& weights,
               std::span<double> gradient)
  {
    RigidityResult* const result = result_.span().data();
    double* const covectors = gradient.empty() ? nullptr : covectors_.span().data();
    context.stream->fill(result, 0, sizeof *result);
    sumRigidityOnCuda<D>(context, grid_, rigidity_, transform_->at(context, coefficients),
                         scratch_.span().data(), covectors, result);
    if (covectors)
      pullBackRigidityOnCuda<D>(context, grid_, weights, covectors, scratch_.span().data(), result,
                                gradient.data());
    found_.copyLater(result);
  }
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
