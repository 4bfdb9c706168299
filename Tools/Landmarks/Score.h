#pragma once

#include "Core/Compute/Log.h"
#include "Tools/Landmarks/ScoreOptions.h"

namespace tessera {

/// Scores all cases, prints a table, and writes the files that are asked for. Nothing is written if a case
/// cannot be scored. Throws Error. Returns the exit code.
int score(const ScoreOptions&, Log&);

}
