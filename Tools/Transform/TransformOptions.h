#pragma once

#include "Tools/Common/CommandLine.h"

#include <limits>
#include <string>
#include <vector>

namespace tessera {

/// The command line of `tessera-transform`.
struct TransformOptions {
  std::string transformFile, outputFolder;
  std::vector<std::string> images, labels;    // paths, or lists of them (@FILE)
  std::string labelInterpolation = "nearest"; // or "majority"
  std::string points;                         // a file of points; empty: none
  bool field = false, determinants = false, matrices = false;
  std::string device = "auto";
  std::string fieldInterpolator; // empty: as the transform file says
  double maxMemory = 0;          // bytes of host memory for images; 0: a share of the free memory
  double maxDeviceMemory = std::numeric_limits<double>::infinity(); // bytes of a CUDA device
  int threads = 1;
  std::string threadSource;
};

inline bool hasImages(const TransformOptions& options)
{
  return !options.images.empty() || !options.labels.empty();
}

/// The text of --help.
ProgramText transformText(bool asElastix);

/// The options of a parsed command line. Throws Error(usage) if one is missing, in the words of transformix
/// if the program goes by its name, or contradicts another.
TransformOptions transformOptions(const Arguments&, bool asElastix);

}
