#pragma once

#include "Core/Compute/Context.h"
#include "Core/Image/Voxels/PixelType.h"
#include "Tools/Bench/BenchReport.h"

#include <array>
#include <string>
#include <vector>

namespace tessera {

/// The settings of measuring how image files are read and written with one thread and with all, beside ITK.
/// The files lie in the system's folder for temporary files; reading finds them in the page cache.
struct FileSettings {
  std::vector<std::array<int, 3>> volumes;
  std::vector<std::string> formats; // extensions, or "mha-compressed"
  std::vector<PixelType> types;
  std::size_t repeats = 5;
};

/// The formats asked for, or the default ones if none are. Throws Error(usage) for an unknown format.
std::vector<std::string> benchFormats(const std::vector<std::string>& asked);
/// The pixel types asked for, or the default ones if none are. Throws Error(usage) for an unknown type.
std::vector<PixelType> benchPixels(const std::vector<std::string>& asked);

std::vector<BenchResult> fileBench(Context&, const FileSettings&);

}
