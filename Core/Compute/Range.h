#pragma once

namespace tessera {

/// What the host does while it lives, by name, for profilers: an NVTX range. Costs some nanoseconds if nobody
/// profiles; nothing in a build without CUDA.
class Range {
public:
  explicit Range(const char* name);
  ~Range();
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

}
