#pragma once

#include "Core/Image/Files/ReadingOptions.h"
#include "Tools/Common/CommandLine.h"
#include "Tools/Common/GpuRatesFile.h"

#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace tessera {

/// The options of the command line of `tessera`.
struct RegisterOptions {
  std::vector<std::string> fixed, moving, fixedMasks, movingMasks;
  std::vector<std::string> parameterFiles;
  std::string outputFolder;                            // in the form that was given
  std::string initialTransform;                        // empty: none
  std::string fixedPoints, movingPoints, pointWeights; // empty: none
  std::string fixedLabels, movingLabels;               // empty: none
  std::string device;                                  // empty: as the parameter files say
  std::string commandLine;                             // whole, as a shell takes it
  ReadingOptions reading;
  std::shared_ptr<KnownGpus> gpus = std::make_shared<KnownGpus>(); // of this run, or of several
  int threads = 1;
  std::string threadSource; // who set `threads`; only "-threads" wins over MaximumNumberOfThreads
  double maxDeviceMemory = std::numeric_limits<double>::infinity(); // bytes
  bool checkOnly = false, strict = false;
  bool inverseToo = false;            // write the inverse of the result, too
  bool report = false;                // write report.html, too
  bool refusesConstantImages = false; // an image without contrast is an error, not a warning
  bool endsAtOnce = false;            // a signal while images are read ends the process
  bool cudaStartIsPaid = false;       // the caller starts CUDA anyway: "auto" takes CUDA wherever it can
};

/// Everything that help prints.
ProgramText registerText();

/// Throws Error(usage) for options that are missing (in the words of elastix if the program goes by that
/// name) and for options that contradict each other.
RegisterOptions registerOptions(const Arguments&, bool asElastix);

}
