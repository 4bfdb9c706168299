#pragma once

#include "Tools/Common/CommandLine.h"

#include <limits>
#include <string>
#include <vector>

namespace tessera {

/// What the command line of `tessera` asks for.
struct RegisterOptions {
  std::vector<std::string> fixed, moving, fixedMasks, movingMasks;
  std::vector<std::string> parameterFiles;
  std::string outputFolder;              // as given
  std::string initialTransform;          // empty: none
  std::string fixedPoints, movingPoints; // empty: none
  std::string device;                    // empty: as the parameter files say
  std::string commandLine;               // whole, as a shell takes it
  int threads = 1;
  std::string threadSource; // what decided: "-threads", ...; others give way to MaximumNumberOfThreads
  double maxDeviceMemory = std::numeric_limits<double>::infinity(); // bytes
  bool checkOnly = false, strict = false;
};

/// Everything that help prints.
ProgramText registerText();

/// Throws Error(usage) for what is missing or does not fit together.
RegisterOptions registerOptions(const Arguments&);

}
