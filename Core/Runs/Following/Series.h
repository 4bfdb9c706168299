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
  std::size_t volumes = 0;
  /// Reads a volume. One thread at a time asks for those of a pass in rising order.
  std::function<HeldImage<D>(std::size_t volume)> read;
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
  std::string device; // as FollowUpdate has it
};

/// Takes the results in the order of the volumes. One thread at a time calls it.
template <int D>
using TakeVolume =
    std::function<void(const ImageGeometry<D>& reference, std::size_t volume, VolumeResult<D>)>;

/// The bytes of volumes and results that registerSeries() holds at most, beside what a volume takes.
constexpr double bytesOfSeries = 3e8;

/// Registers the volumes to the reference: to their mean in two passes, to the first volume and then to the
/// mean of the result. Each volume goes on from the one before it (Follower), in chains of 32 volumes that
/// several threads take, so that results do not depend on their number. Memory does not grow with the number
/// of volumes: threads take chains of small volumes, and large ones one after the other. Throws Error and
/// Interrupted.
template <int D>
void registerSeries(const Registry&, const SeriesRequest<D>&, const TakeVolume<D>&, Log&,
                    const Machine& = shippedMachine(), Stop = {});

}
