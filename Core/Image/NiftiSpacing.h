#pragma once

#include <string>

namespace tessera {

/// NIfTI's library replaces a spacing of zero or NaN by 1 before ITK can see it. This looks at the file itself and throws
/// Error(unreadableInput) for a spacing not above zero on an axis of more than one voxel. Files that are no NIfTI pass.
void checkNiftiSpacing(const std::string& path);

}
