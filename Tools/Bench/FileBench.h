#pragma once

#include "Core/Compute/Context.h"
#include "Tools/Bench/BenchReport.h"

#include <array>
#include <vector>

namespace tessera {

/// Reading and writing image files on one and on all threads, beside ITK's. Files lie in the system's folder for temporary files
/// and are read from memory, where writing has left them.
struct FileSettings {
  std::vector<std::array<int, 3>> volumes;
  std::size_t repeats = 5;
};

std::vector<BenchResult> fileBench(Context&, const FileSettings&);

}
