#pragma once

#include "Core/Registry/Registry.h"
#include "Tools/Common/RunLog.h"
#include "Tools/Follow/FollowOptions.h"

namespace tessera {

/// Registers each image that comes, writes its results, and tells it on standard output, until there are no
/// more or a signal comes. Returns 0 if every image has an update, 7 if some have none, 3 if none has: images
/// that were passed by a newer one, or not begun before the signal, have none. Throws Error for what concerns
/// all images, and for a full disk.
int followImages(const Registry&, const FollowOptions&, RunLog&);

}
