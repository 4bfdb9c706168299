#pragma once

#include "Core/Image/Image.h"

#include <string>

namespace tessera {

/// Writes x + u(x) as an ITK transform file (.h5 or .hdf5): a CompositeTransform of one
/// DisplacementFieldTransform in single precision, compressed, atomically. `field` holds u in mm, D
/// components a voxel. Throws Error(unwritableOutput).
template <int D>
void writeItkDisplacementField(const std::string& path, const VectorImage<D>& field);

}
