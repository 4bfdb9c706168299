#pragma once

#include <string>
#include <vector>

namespace tessera {

/// The transform files that the run in a folder wrote, one a stage, as its run.json tells. Empty if there is
/// no run.json, or one of a run that failed before its first stage was finished.
std::vector<std::string> transformsOfStages(const std::string& folder);

/// The transform file that an option such as -tp means: of the folder of a result that of its last stage,
/// else the path itself. Throws Error(usage) for the folder of a run that failed or that has no run.json.
std::string transformFileOf(const std::string& path, const std::string& option);

/// "000012", in names of files and folders.
std::string sixDigits(std::size_t number);

/// Says which stages come after a transform file, if the run.json beside it tells of such; else empty.
std::string laterStagesThan(const std::string& transformFile);

}
