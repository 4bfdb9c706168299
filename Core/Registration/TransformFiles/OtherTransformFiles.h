#pragma once

#include "Core/Image/ItkTransformFiles/ItkTransformFile.h"
#include "Core/Registration/Transform.h"
#include "Core/Registry/Registry.h"

#include <string>
#include <vector>

namespace tessera {

/// The kinds of files that hold transforms.
enum class TransformFileKind {
  parameters, // a transform parameter file, or anything that is none of the following
  itk,        // ITK transforms: .tfm, .h5, .hdf5, and the .mat of ANTs
  field,      // an image of displacements in mm (LPS), or a field of NiftyReg
  lta,        // a matrix of FreeSurfer
  matrix,     // .mat as text: a matrix of FSL or greedy, which does not say of which
};

/// The kind of a file by its first bytes and its ending.
TransformFileKind transformFileKind(const std::string& path);

/// The chain of a file that is no transform parameter file. Throws Error(unreadableInput), also for a matrix
/// of unknown meaning, and for fields of FSL, which depend on another image.
template <int D>
ChainPointer<D> readOtherTransforms(const std::string& path, const Registry&, const Parameters::Warn&);

/// The transforms of a file of the kind itk.
std::vector<ItkTransform> itkTransformsOf(const std::string& path);

/// The dimension of the transforms in such a file. Throws Error(unreadableInput).
std::size_t dimensionOfOtherTransforms(const std::string& path);

}
