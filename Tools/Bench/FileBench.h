#pragma once

#include "Core/Compute/Context.h"
#include "Core/Image/Voxels/PixelType.h"
#include "Tools/Bench/BenchReport.h"

#include <array>
#include <string>
#include <vector>

namespace tessera {

/// Reading and writing image files on one and on all threads, beside ITK's. Files lie in the system's folder
/// for temporary files and are read from memory, where writing has left them.
struct FileSettings {
  std::vector<std::array<int, 3>> volumes;
  std::vector<std::string> formats; // extensions, "mha-compressed"
  std::vector<PixelType> types;
  std::size_t repeats = 5;
};

/// The formats that are measured unless some are asked for. Throws Error(usage) for one that is not known.
std::vector<std::string> benchFormats(const std::vector<std::string>& asked);
/// The same for pixels.
std::vector<PixelType> benchPixels(const std::vector<std::string>& asked);

std::vector<BenchResult> fileBench(Context&, const FileSettings&);

}
