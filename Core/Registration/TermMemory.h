#pragma once

#include "Core/Registration/Samples/StripePlan.h"

#include <cstddef>

namespace tessera {

/// The sizes of a level, from which a term of the cost tells how much memory it takes on the CPU.
struct TermExtent {
  std::size_t level = 0;
  std::size_t positions = 0;                // of its sampler
  bool isLattice = false;                   // they are a lattice of voxels
  bool goesByPoints = true;                 // each is mapped on its own, with J^T at each
  bool hasMasks = false;                    // of either image
  double fixedVoxels = 0, movingVoxels = 0; // of the level's images
  std::size_t parameters = 0;               // of the transform
};

/// Bytes of a gradient that is summed in stripes over so many positions.
inline double stripeBytes(std::size_t positions, std::size_t parameters)
{
  return static_cast<double>(sizeof(double) * (planStripes(positions, parameters).stripes - 1) * parameters);
}

/// A CostTerm that takes another amount than a striped gradient over all of its positions implements this
/// interface, too.
class TermTellsMemory {
public:
  /// Bytes of the host's memory that the term takes at a level on the CPU, beside the level's images.
  virtual double hostBytes(const TermExtent&) const = 0;
  /// Bytes of the host's memory while a level on the CPU is prepared, beside the level's images, for a term
  /// that takes more then than it holds afterwards.
  virtual double hostBytesWhilePrepared(const TermExtent&) const { return 0; }

protected:
  ~TermTellsMemory() = default;
};

}
