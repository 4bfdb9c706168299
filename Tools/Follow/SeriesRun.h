#pragma once

#include "Core/Registry/Registry.h"
#include "Tools/Common/RunLog.h"
#include "Tools/Follow/FollowOptions.h"

namespace tessera {

/// Registers the volumes of an image in four dimensions to their mean, to one of them, or to another image.
/// Each volume goes on from the one before it, in chains of 32 volumes that several threads take. Writes
/// series.nii.gz, the volumes on the grid of the reference in their own type; transforms; and motion.tsv if
/// these are rigid. Tells each volume on standard output. Returns 0, or 7 if some volumes have
/// no result, which are 0 in series.nii.gz. Throws Error.
int registerSeries(const Registry&, const FollowOptions&, RunLog&);

}
