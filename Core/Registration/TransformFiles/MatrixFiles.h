#pragma once

#include "Core/Image/ImageGeometry.h"

#include <string>

namespace tessera {

// Linear transforms as files of other programs: 4 x 4 matrices that map points in mm, as text. In memory they
// are maps T from the fixed to the moving space (mm, LPS). Readers throw Error(unreadableInput) for a file
// that is damaged or holds no such matrix, and for a matrix without an inverse where that is needed.

/// A map between points in LPS as one between points in RAS (the first two axes turned round), and back.
AffineMap<3> inRas(const AffineMap<3>&);

/// FSL's coordinates (mm) from points (mm, LPS): voxel indices times the spacing; the first axis is turned
/// round if the voxels' axes are right-handed in RAS (FSL, "FLIRT FAQ", section on coordinates).
AffineMap<3> fslFromPoint(const ImageGeometry<3>&);

/// The matrix of FSL's flirt, which maps FSL's coordinates of the moving image to those of the fixed image.
std::string flirtText(const AffineMap<3>& transform, const ImageGeometry<3>& fixed,
                      const ImageGeometry<3>& moving);
AffineMap<3> readFlirt(const std::string& path, const ImageGeometry<3>& fixed,
                       const ImageGeometry<3>& moving);

/// The matrix of greedy and of NiftyReg, which maps points of the fixed to the moving space in RAS.
std::string rasMatrixText(const AffineMap<3>& transform);
AffineMap<3> readRasMatrix(const std::string& path);

/// FreeSurfer's LTA: the matrix from the moving (src) to the fixed (dst) space in RAS, with both grids. The
/// reader also takes matrices between voxels.
std::string ltaText(const AffineMap<3>& transform, const ImageGeometry<3>& fixed,
                    const ImageGeometry<3>& moving, const std::string& fixedName,
                    const std::string& movingName);
AffineMap<3> readLta(const std::string& path);

}
