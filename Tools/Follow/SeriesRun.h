#pragma once

#include "Core/Registry/Registry.h"
#include "Tools/Common/RunLog.h"
#include "Tools/Follow/FollowOptions.h"

namespace tessera {

/// registerSeries() for a file. Writes series.nii.gz, the volumes on the grid of the reference in their own
/// type; transforms; and motion.tsv if these are rigid. Tells each volume on standard output. Returns 0, or 7
/// if some volumes have no result, which are 0 in series.nii.gz. Throws Error.
int runSeries(const Registry&, const FollowOptions&, RunLog&);

}
