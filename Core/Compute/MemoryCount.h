#pragma once

#include "Core/Compute/Context.h"

namespace tessera {

/// Stands for a CUDA device whose memory is only counted: code that takes memory runs with context() instead
/// of the context of a device, and bytes() then tells how much it would take there. The arrays have sizes but
/// no numbers: copies to and from them do nothing, images may come without voxels, and no kernel may be
/// launched. A build without CUDA counts in the same way.
class MemoryCount {
public:
  MemoryCount();

  /// A context on a CUDA device by all appearances; see onlyCountsMemory.
  Context& context() { return context_; }
  /// Held now.
  double bytes() const;

private:
  Context context_;
};

/// Whether the context is that of a MemoryCount, so that arrays are taken but not filled.
bool onlyCountsMemory(const Context&);

}
