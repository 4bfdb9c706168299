#pragma once

#include <string>
#include <vector>

namespace tessera {

/// A result that a run will write.
struct ResultToWrite {
  std::vector<std::string> files; // its name, then those of further files; they replace what is there
  double bytes = 0;               // of its voxels
  bool isCompressed = false;
};

/// Call this before the work whose results are written, in this order, to a folder that may not exist yet. A
/// file that is replaced goes away once the new one is whole. Throws Error(unwritableOutput) `where: ...`
/// with sizes if the disk has too little room whatever the voxels are. Returns a warning if it has too little
/// for voxels that cannot be compressed; empty: none.
std::string requireDiskRoom(const std::string& where, const std::string& folder,
                            const std::vector<ResultToWrite>&);

}
