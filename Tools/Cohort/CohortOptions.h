#pragma once

#include "Tools/Cohort/Manifest.h"
#include "Tools/Common/CommandLine.h"

#include <limits>
#include <string>
#include <vector>

namespace tessera {

/// The command line of `tessera-cohort`: a command, a table or a folder of results, and options.
struct CohortOptions {
  std::string command, operand, commandLine;
  std::string outputFolder;
  OptionValues defaults;       // options of `tessera` for rows without a value of their own
  std::string device = "auto"; // auto, cpu or cuda
  int jobs = 0, threads = 1;   // jobs: rows at once; 0: as many as there are threads
  double maxMemory = std::numeric_limits<double>::infinity(); // bytes of the host
  std::size_t shard = 1, shards = 1;                          // row i belongs to shard 1 + i modulo shards
  std::vector<std::string> again;                             // ids, or "failed", or "all"
  bool verify = false, noEarlyStop = false, strict = false, singleFile = false, trial = false;
  bool pages = true; // of the rows
  int claimSeconds = 600;
  int tasks = 1; // of `slurm`
  std::string time = "24:00:00";
  std::vector<std::string> sbatch; // lines of options for sbatch
};

ProgramText cohortText();

/// Throws Error(usage).
CohortOptions cohortOptions(const std::vector<std::string>& tokens);

}
