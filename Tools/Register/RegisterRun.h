#pragma once

#include "Core/Registry/Registry.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/RunLog.h"
#include "Tools/Common/RunRecord.h"
#include "Tools/Register/RegisterOptions.h"
#include "Tools/Register/StageTime.h"

#include <string>

namespace tessera {

/// Checks everything, and unless only that was asked for runs all stages and writes their files. Returns the
/// exit code. Throws Error, or Interrupted after a signal.
int runRegistration(const Registry&, const RegisterOptions&, const std::string& command, RunLog&,
                    const FileDigest& = digestOfFile);
/// Checks everything, and returns what the run is predicted to take. Throws as runRegistration.
PredictedRun checkRegistration(const Registry&, const RegisterOptions&, RunLog&);

}
