#pragma once

#include "Core/Registration/Samples/Samples.h"

#include <optional>

namespace tessera {

/// Keeps what was made for the lattice that was asked for last.
template <int D, class Made>
class MadeForLattice {
public:
  /// Null if there is no lattice, or if make(lattice, std::optional<Made>&) left nothing.
  template <class Make>
  Made* of(const VoxelLattice<D>* lattice, const Make& make)
  {
    if (!lattice)
      return nullptr;
    if (lattice_ != *lattice) {
      reset();
      make(*lattice, made_);
      lattice_ = *lattice;
    }
    return made_ ? &*made_ : nullptr;
  }

  void reset()
  {
    lattice_.reset();
    made_.reset();
  }

private:
  std::optional<VoxelLattice<D>> lattice_;
  std::optional<Made> made_;
};

}
