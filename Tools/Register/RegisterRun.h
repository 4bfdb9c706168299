#pragma once

#include "Core/Registry/Registry.h"
#include "Core/Runs/RunPlan.h"
#include "Core/Runs/RunRecord.h"
#include "Tools/Common/RunLog.h"
#include "Tools/Register/RegisterOptions.h"

#include <string>

namespace tessera {

/// Checks everything, and returns what the run would take. Throws Error.
RunPlan planOf(const Registry&, const RunRequest&, Log&);
/// The same, and tells it. With `measuresTime` every level runs with few iterations.
void checkRegistration(const Registry&, const RunRequest&, bool measuresTime, Log&);

/// Checks everything, runs all stages and writes their files. `command` is the program's name. With
/// `endsAtOnce` a signal ends the process while images are read. Throws Error, or Interrupted after a signal.
void runRegistration(const Registry&, const RegisterOptions&, const std::string& command, RunLog&,
                     bool endsAtOnce, const FileDigest& = digestOfFile);

}
