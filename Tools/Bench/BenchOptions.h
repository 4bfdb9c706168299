#pragma once

#include "Tools/Common/Process.h"

namespace tessera {

/// The options of tessera-bench and its help.
ProgramText benchText();

}
