#pragma once

#include "Core/Registration/Reporter.h"

#include <string>
#include <vector>

namespace tessera {

/// Where the time of a level went, as lines of the log: part, milliseconds, share, device; the total last.
std::vector<std::string> timeTableLines(const LevelSummary&);

}
