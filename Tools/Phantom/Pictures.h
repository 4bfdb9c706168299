#pragma once

#include "Core/Compute/Context.h"
#include "Core/Image/Image.h"

#include <string>

namespace tessera {

/// Writes three colour pictures of a registration into the folder `out`: edges.png, checkerboard.png and
/// difference.png. Each shows an axial, a coronal and a sagittal slice, above before the registration (the
/// moving image) and below after it (the result), with a line of explanation. All images have one grid of
/// cubic voxels, x to the patient's left, y to the back, z up. Throws Error(unwritableOutput).
void writePictures(Context&, const Image<3>& fixed, const Image<3>& moving, const Image<3>& result,
                   const std::string& out);

}
