#pragma once

#include <string>
#include <vector>

namespace tessera {

/// A transform as ITK's transform files name it.
struct ItkTransform {
  std::string className; // "AffineTransform_double_3_3"
  std::vector<double> fixedParameters, parameters;

  bool operator==(const ItkTransform&) const = default;
};

/// Transforms of an ITK transform file (.tfm, .txt, .h5, .hdf5) in file order; a composite is given by its
/// parts. Of several, the last one is applied first. Throws Error(unreadableInput).
std::vector<ItkTransform> readItkTransforms(const std::string& path);

/// Writes .tfm or .txt (text) or .h5 or .hdf5 (HDF5) with full double precision, atomically. `composite`
/// wraps them in one CompositeTransform; the last transform is applied first. Throws Error(unwritableOutput).
void writeItkTransforms(const std::string& path, const std::vector<ItkTransform>& transforms, bool composite);

}
