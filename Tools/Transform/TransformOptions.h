#pragma once

#include "Tools/Common/CommandLine.h"

#include <string>

namespace tessera {

/// What the command line of `tessera-transform` asks for.
struct TransformOptions {
  std::string transformFile, outputFolder;
  std::string image;  // empty: none
  std::string points; // a file of points; empty: none
  bool field = false, determinants = false, matrices = false;
  std::string device = "auto";
  std::string fieldInterpolator; // empty: what the transform file says
  int threads = 1;
  std::string threadSource;
};

/// Everything that help prints.
ProgramText transformText();

/// Throws Error(usage) for what is missing or does not fit together.
TransformOptions transformOptions(const Arguments&);

}
