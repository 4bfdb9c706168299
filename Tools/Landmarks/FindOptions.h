#pragma once

#include "Core/Compute/Log.h"
#include "Core/Image/Files/ReadingOptions.h"
#include "Tools/Common/CommandLine.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// The options of `detect` and `track`.
struct FindOptions {
  std::string fixed, fixedMask, initial;        // files; empty: none
  std::vector<std::string> moving, movingMasks; // files: phases, and no mask or one for each
  std::string output;                           // detect: a file; track: a folder
  std::string method = "mind";
  std::optional<double> spacingMm; // of the working grid; none: cubes of a voxel's volume
  double toleranceMm = 3;
  int reachVoxels = 12;                    // of sest
  std::optional<std::size_t> maxKeypoints; // of detect and mind; none: all, and 8000
  std::string device = "auto";
  ReadingOptions reading;
  int threads = 1;
};

/// Where the landmarks of a phase are written, with a / at the end: the folder itself if there is one -m,
/// else phase1, phase2, ... in it.
std::string folderOf(const FindOptions&, std::size_t phase);

/// The groups of the help that only `detect` and `track` have.
OptionGroup findOptionsText();

/// Throws Error(usage) for values that are missing or not allowed, and if an output would replace an input.
FindOptions findOptions(const std::string& command, const Arguments&);

/// Throws Error(usage) if an option is given that this command does not have.
void checkOptionsOf(const std::string& command, const Arguments&);

/// Writes the keypoints of the fixed image as an elastix file of points. Throws Error, also if there are
/// none. Returns the exit code.
int detect(const FindOptions&, Log&);

/// Tracks keypoints of the fixed image into the moving image, and writes those that are kept as elastix files
/// of points with their weights, and all of them as JSON. Nothing is written before all are tracked. Throws
/// Error.
int track(const FindOptions&, Log&);

}
