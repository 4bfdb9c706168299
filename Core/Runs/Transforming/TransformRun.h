#pragma once

#include "Core/Compute/Error.h"
#include "Core/Registry/Registry.h"
#include "Core/Runs/Machine.h"
#include "Core/Runs/Transforming/TransformSink.h"

namespace tessera {

/// Transforms applied to images, points and grids: checked when it is made, then planned or executed. It
/// writes, prints and forks nothing, and keeps nothing in the process, so that several may go at once.
template <int D>
class TransformRun {
public:
  /// Reads the transforms, makes each component once, and checks all that needs no device and no voxels.
  /// dimensionOf() tells the dimension. Registry, log and machine must outlive it. Throws Error.
  TransformRun(const Registry&, TransformRequest, Log&, const Machine& = shippedMachine());
  ~TransformRun();

  /// Chooses the device, once. Throws Error if it cannot do the work.
  const TransformPlan& plan();

  /// To be called once. If one of several images fails, the log tells why, the others are still done, and it
  /// returns someRowsFailed. Throws Error, or Interrupted once `stop` asks for it.
  ExitCode execute(TransformSink<D>&, Stop = {});

private:
  class Body;
  std::unique_ptr<Body> body_;
};

}
