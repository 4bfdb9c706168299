#pragma once

#include "Core/Compute/Memory/DeviceMemory.h"

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
  /// The memory held now, under the names that MemoryPart gave.
  DeviceMemory memory() const;
  double bytes() const { return memory().bytes(); }
  /// The memory that was held when it was the most, since takePeakDeviceMemory was last called.
  DeviceMemory peak() const;

private:
  Context context_;
};

/// Whether the context is that of a MemoryCount, so that arrays are allocated but not filled.
bool onlyCountsMemory(const Context&);

/// Names the memory that is taken on the context of a MemoryCount until the end of the scope. Of nested names
/// the inner one counts. On other contexts it does nothing.
class MemoryPart {
public:
  MemoryPart(const Context&, std::string name);
  ~MemoryPart();
  MemoryPart(const MemoryPart&) = delete;
  MemoryPart& operator=(const MemoryPart&) = delete;

private:
  std::string* name_; // of the count; null: nothing is counted
  std::string before_;
};

}
