#pragma once

#include "Core/Runs/RunRequest.h"
#include "Tools/Common/CommandLine.h"

#include <chrono>
#include <optional>
#include <string>

namespace tessera {

/// The command line of `tessera-follow`.
struct FollowOptions {
  RunRequest request;                 // without moving images; fixedLabels: to be carried to them
  std::string outFolder;              // with a slash at its end
  std::string names, watched, series; // one of them is given
  std::string existing;               // newest, all or none
  std::string write;                  // last, all or none
  std::optional<std::size_t> keep;    // how many updates
  bool every = false;                 // no image is passed
  bool writesImages = false, writesParameters = false;
  std::string startAt;                           // a result to go on from, where no earlier update is
  std::string planPoints;                        // of the fixed image
  std::optional<std::chrono::nanoseconds> limit; // of an update, from the arrival of its image
  std::string reference;                         // of a series: mean, first or a number
  std::string order;                             // of motion.tsv: fsl or spm
  bool hasPage = false;                          // of a series: series.html
  bool lastAxisIsTime = false;                   // of a series in three dimensions
};

ProgramText followText();

/// Reads the parameter files. Throws Error(usage).
FollowOptions followOptions(const Arguments&);

}
