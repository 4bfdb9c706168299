#pragma once

#include "Core/Image/Image.h"

#include <string>
#include <vector>

namespace tessera {

/// One transform of an ITK transform file.
struct ItkTransform {
  std::string className; // "AffineTransform_double_3_3"
  std::vector<double> fixedParameters, parameters;

  bool operator==(const ItkTransform&) const = default;
};

/// Reads the transforms of an ITK transform file (.tfm, .txt, .h5, .hdf5) in the order of the file, a
/// composite as its parts. The last one is applied first. Throws Error(unreadableInput).
std::vector<ItkTransform> readItkTransforms(const std::string& path);

/// Writes .tfm or .txt (text) or .h5 or .hdf5 (HDF5) with full double precision, atomically. `composite`
/// joins them in one CompositeTransform. The last transform is applied first. Throws Error(unwritableOutput).
void writeItkTransforms(const std::string& path, const std::vector<ItkTransform>& transforms, bool composite);

/// Writes x + u(x) as an ITK transform file (.h5 or .hdf5): a CompositeTransform of one
/// DisplacementFieldTransform in single precision, compressed, atomically. `field` holds u in mm, D
/// components a voxel. Throws Error(unwritableOutput).
template <int D>
void writeItkDisplacementField(const std::string& path, const VectorImage<D>& field);

}
