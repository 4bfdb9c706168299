#pragma once

#include <string>

namespace tessera {

// Checks of ITK's transform files before ITK reads them: ITK ends the program at grids that are not finite,
// writes beyond memory at sizes that do not fit the parameters, and leaves transforms of a text that is cut
// off at the identity. Both throw Error(unreadableInput).

/// A file of text (.tfm, .txt). Returns the text without a byte order mark, which ITK refuses.
std::string checkItkText(const std::string& path);
/// A file of HDF5. What cannot be found in it is left to ITK, which then throws.
void checkItkHdf5(const std::string& path);

/// Tells ITK its own transforms, the B-splines of orders 0, 1 and 2, which SimpleITK adds to them, and
/// MatrixOffsetTransformBase, which ANTs and c3d_affine_tool write for affine transforms.
void registerItkTransforms();

}
