#pragma once

#include "Tools/Common/CommandLine.h"

#include <limits>
#include <string>
#include <vector>

namespace tessera {

/// What the command line of `tessera-transform` asks for.
struct TransformOptions {
  std::string transformFile, outputFolder;
  std::vector<std::string> images, labels;    // paths, or lists of them (@FILE)
  std::string labelInterpolation = "nearest"; // or "majority"
  std::string points;                         // a file of points; empty: none
  bool field = false, determinants = false, matrices = false;
  std::string device = "auto";
  std::string fieldInterpolator; // empty: what the transform file says
  double maxMemory = 0;          // bytes that images may take; 0: what is free
  double maxDeviceMemory = std::numeric_limits<double>::infinity(); // bytes of a CUDA device
  int threads = 1;
  std::string threadSource;
};

inline bool hasImages(const TransformOptions& options)
{
  return !options.images.empty() || !options.labels.empty();
}

/// Everything that help prints.
ProgramText transformText();

/// Throws Error(usage) for what is missing or does not fit together.
TransformOptions transformOptions(const Arguments&);

}
