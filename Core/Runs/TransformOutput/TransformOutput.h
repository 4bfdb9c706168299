#pragma once

#include "Core/Compute/Log.h"
#include "Core/Registration/Resampler.h"
#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Core/Registry/Registry.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// The programs whose transform files can be written (dox/Transforming.md).
enum class TransformFormat { elastix, itk, field, ants, fsl, niftyreg, greedy, freesurfer };

/// The format of a name, or of the ending of `path` if the name is empty. Throws Error(usage) for an unknown
/// name, and for an ending that says no format or that of several.
TransformFormat transformFormat(const std::string& name, const std::string& path);

/// The names that transformFormat knows, for messages and --help.
std::string transformFormatNames();

/// A transform that is to be written as a file.
template <int D>
struct TransformOutput {
  std::string path; // the beginning of several paths for ANTs
  TransformFormat format = TransformFormat::elastix;
  ChainPointer<D> chain;                  // an inverse is one of inverseOnGrid
  ChainPointer<D> invertsTo;              // if `chain` is an inverse: what it is the inverse of
  ImageGeometry<D> lattice;               // points at which fields are evaluated
  ImageGeometry<D> output;                // the same grid as files have it
  std::optional<ImageGeometry<D>> moving; // the other side's grid, for FSL and FreeSurfer
  std::string fixedName = "fixed", movingName = "moving"; // names of images, for FreeSurfer
  std::shared_ptr<const ParameterMap> settings; // from which a transform parameter file gets how to resample
  const Resampler<D>& resampler;                // the same
  bool useDirectionCosines = true;
  bool asSpline = false; // fit a B-spline (fitInverse) to an inverse that is not linear
};

/// Throws Error(usage) unless writeTransform can write this.
template <int D>
void checkOutput(const TransformOutput<D>&);

/// Writes a transform. Chains of linear transforms are written exactly, as one linear transform. Others:
/// - elastix (.txt): exactly if the chain is one transform with parameters; else the file names a field of
///   displacements beside it, <stem>.nii.gz, or .mha where its axes are not perpendicular.
/// - itk: a composite of all transforms if ITK has each of them and they are composed; else of one field of
///   displacements in single precision (.h5 alone). .tfm and .h5.
/// - field: T(x) - x in mm (LPS), D floats a voxel; any image format. As NIfTI, ITK, ANTs and greedy read it.
/// - ants: PREFIX0GenericAffine.mat with the linear part L, PREFIX1Warp.nii.gz with W and
///   PREFIX1InverseWarp.nii.gz with W^-1 on the same grid, T(x) = L(W(x)).
/// - fsl: for linear chains the matrix of flirt; else a field of fnirt.
/// - niftyreg: for linear chains the matrix of reg_aladin; else a field of positions.
/// - greedy: for linear chains its matrix; else a field.
/// - freesurfer: .lta, linear chains alone.
/// With asSpline, elastix and itk get one B-spline transform; its residual is in the log and in the .txt
/// file. In a field, voxels without a root of an inverse get a displacement 10 times as long as the diagonal
/// of the grid, which leads out of any image. Returns the files that were written. Throws Error.
template <int D>
std::vector<std::string> writeTransform(Context&, const Registry&, const TransformOutput<D>&, Log&);

/// The files that writeTransform would write.
std::vector<std::string> filesOfOutput(const std::string& path, TransformFormat);

}
