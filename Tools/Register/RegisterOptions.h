#pragma once

#include "Core/Runs/RunRequest.h"
#include "Tools/Common/CommandLine.h"

#include <optional>
#include <string>

namespace tessera {

/// The command line of `tessera`.
struct RegisterOptions {
  RunRequest request;
  std::string commandLine;                      // whole, as a shell takes it
  bool checkOnly = false, measuresTime = false; // --check, --time
  std::string preset{};                         // that chose the stages; empty: -p did
};

/// Everything that help prints.
ProgramText registerText();

/// The options that words without an option stand for: none under the names of elastix.
std::vector<std::string> registerOperands(bool asElastix);

/// Reads the parameter files. Throws Error(usage) for options that are missing (in the words of elastix if
/// the program goes by that name) and for options that contradict each other.
RegisterOptions registerOptions(const Arguments&, bool asElastix);

/// A command line that makes this request, as a shell takes it.
std::string commandLineOf(const RunRequest&);

}
