#pragma once

#include "Core/Image/Image.h"

#include <string>

namespace tessera {

// Other programs store fields of vectors in NIfTI files with other meanings, units or axes. The readers
// return displacements in mm and LPS, and throw Error(unreadableInput) for files that hold something else.

/// NiftyReg's positions or displacements in RAS, as the first parameter of the intent says (0, 1).
VectorImage<3> readNiftyRegField(const std::string& path);

/// FSL's field of fnirt, convertwarp and the like: four axes, intent 2006; at each voxel of the fixed image
/// the way in FSL's coordinates (fslFromPoint) from there to the place in the moving image. Fields of places
/// instead of ways (--absout) are refused; FSL's programs tell them apart in the same way.
VectorImage<3> readFnirtField(const std::string& path, const ImageGeometry<3>& moving);

/// Replaces each vector by value(pointMm, vector), where pointMm is the voxel's place.
template <class Value>
void replaceVectors(VectorImage<3>& field, Value&& value)
{
  const AffineMap<3> pointFromIndex = field.geometry.pointFromIndex();
  for (std::size_t v = 0; v < field.geometry.voxelCount(); ++v) {
    const Vec<3> index = indexOfVoxel<3>(field.geometry.size, v);
    float* vector = field.voxels.data() + 3 * v;
    const Vec<3> result = value(pointFromIndex(index), Vec<3>{vector[0], vector[1], vector[2]});
    for (int d = 0; d < 3; ++d)
      vector[d] = static_cast<float>(result[d]);
  }
}

}
