#pragma once

#include "Core/Registration/TermMemory.h"

namespace tessera {

/// A CostTerm that takes more while it is prepared for a level than it then holds implements this interface,
/// too.
class TermTellsPreparation {
public:
  /// Bytes of the host's memory while a level on the CPU is prepared, beside the level's images.
  virtual double hostBytesWhilePrepared(const TermExtent&) const = 0;

protected:
  ~TermTellsPreparation() = default;
};

}
