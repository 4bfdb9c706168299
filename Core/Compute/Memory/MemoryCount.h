#pragma once

#include "Core/Compute/Context.h"

namespace tessera {

/// Stands for a CUDA device whose memory is only counted. Code that allocates memory runs with context() in
/// place of a device's context, and bytes() then says how much it would take there. Arrays have sizes but no
/// numbers: copies to and from them do nothing, images may come without voxels, and no kernel may be
/// launched. A build without CUDA counts in the same way.
class MemoryCount {
public:
  MemoryCount();

  /// A context that looks like one on a CUDA device; see onlyCountsMemory.
  Context& context() { return context_; }
  /// The bytes held now.
  double bytes() const;

private:
  Context context_;
};

/// Whether the context is that of a MemoryCount, so that arrays are allocated but not filled.
bool onlyCountsMemory(const Context&);

}
