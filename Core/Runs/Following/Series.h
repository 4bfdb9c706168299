#pragma once

#include "Core/Compute/Threads/Interruption.h"
#include "Core/Registry/Registry.h"
#include "Core/Runs/Machine.h"
#include "Core/Runs/RunRequest.h"

#include <functional>

namespace tessera {

/// The volumes of an image in D + 1 dimensions, the last of which is time, and what they are registered to.
/// In 2D a volume is a picture.
template <int D>
struct SeriesRequest {
  RunRequest run; // without moving images; its fixed image is the reference "fixed", and else not given
  std::vector<HeldImage<D>> volumes;
  PixelType type = PixelType::float32; // of the volumes in their file, which the results get; not float64
  std::string reference = "mean";      // mean, first, fixed, or the number of a volume from 0
  /// Hears how many volumes of a pass are done. Several threads may call it.
  std::function<void(std::size_t pass, std::size_t passes, std::size_t volumesDone)> progress = {};
};

/// A volume that is registered, or why it is not.
template <int D>
struct VolumeResult {
  ChainPointer<D> chain;         // null: none
  std::vector<std::byte> pixels; // on the grid of the reference; empty: there is no chain
  bool isCold = false;           // it does not go on from the volume before
  std::string error;             // why there is no chain
  double correlation = 0, seconds = 0;
};

template <int D>
struct SeriesResult {
  ImageGeometry<D> reference;
  std::vector<VolumeResult<D>> volumes;
};

/// Registers the volumes to the reference: to their mean in two passes, to the first volume and then to the
/// mean of the result. Each volume goes on from the one before it (Follower), in chains of 32 volumes that
/// several threads take, so that results do not depend on their number. Throws Error and Interrupted.
template <int D>
SeriesResult<D> registerSeries(const Registry&, const SeriesRequest<D>&, Log&,
                               const Machine& = shippedMachine(), Stop = {});

}
