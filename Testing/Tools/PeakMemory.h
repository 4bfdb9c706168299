#pragma once

#include <string>
#include <vector>

namespace tessera::testing {

/// Runs a command, its output on our standard error, and prints the most memory that it had at a time, in kB
/// (of 1024 bytes). Returns its exit code.
int printPeakMemory(const std::vector<std::string>& command);

}
