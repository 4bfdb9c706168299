#pragma once

#include "Core/Registry/Registry.h"
#include "Core/Runs/Report/RunPage.h"
#include "Core/Runs/RunRequest.h"

#include <optional>
#include <string>

namespace tessera {

/// `--report-of`: writes report.html and thumbnail.jpg into the folder of a run that is there already, from
/// its run.json, its transform, its tables of iterations, and the files that it registered. Throws
/// Error(unreadableInput) if one of these is missing or has changed since.
void writePageOfResult(const Registry&, const std::string& folder, int threads, Log&);

/// The pictures of a run that did not end: of the transform file that it has kept, or, without one, of both
/// images at its start, or of the fixed one alone if the moving one cannot be read. Empty if it cannot be
/// read either, or if they have more than 2^26 voxels.
std::optional<RunPictures> picturesOfEnd(const Registry&, const RunRequest&, const std::string& transform);

}
