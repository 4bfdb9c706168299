#pragma once

#include "Core/Runs/RunSummary.h"

#include <string>
#include <vector>

// What `tessera` shows of a run in place of elastix's tables.
namespace tessera {

/// "stage 1 of 2 (CTRigid), level 3 of 4". Numbers count from 0.
std::string placeText(std::size_t stage, std::size_t stages, const std::string& parameterFile,
                      std::size_t level, std::size_t levels);

/// The line of a level that has ended, without its place.
std::string levelText(const LevelSummary&);

/// "no warnings", "1 warning", "2 warnings"
std::string warningsText(std::size_t count);

/// The last five lines: image, transform, figures before and after, warnings, where to look.
std::vector<std::string> resultLines(const RunSummary&, const std::string& folder, bool hasPage,
                                     std::size_t warnings);

}
