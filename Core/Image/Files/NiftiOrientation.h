#pragma once

#include "Core/Image/Files/ImageHeader.h"

#include <array>

namespace tessera {

/// From an index to mm, right, front and up: three rows in single precision, as NIfTI-1's library keeps them.
using NiftiMatrix = std::array<std::array<float, 4>, 3>;

/// The numbers of a NIfTI-1 header that place its voxels.
struct NiftiForms {
  std::array<float, 5> pixdim{1, 1, 1, 1}; // qfac, and the spacing of four axes
  int qformCode = 0, sformCode = 0;
  std::array<float, 3> quatern{}, qoffset{};
  NiftiMatrix srow{};
};

/// The map of a qform.
NiftiMatrix niftiQform(const NiftiForms&);

/// Fills origin and direction of a header of 2 to 4 axes as ITK 5.2 does (SetImageIOOrientationFromNIfTI of
/// itkNiftiImageIO.cxx): by the qform or the sform, to the last bit. A direction has unit length over its
/// first `rows` numbers. Without a qform it takes sforms that ITK does not: of small voxels, or sheared.
/// False if it takes neither.
bool orientFromNifti(const NiftiForms&, int rows, ImageHeader&);

/// The forms that ITK 5.2 writes for a header of 2 to 4 axes (SetNIfTIOrientationFromImageIO).
NiftiForms niftiFormsOf(const ImageHeader&);

}
