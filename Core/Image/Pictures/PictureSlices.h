#pragma once

#include "Core/Image/ImageGeometry.h"

#include <array>
#include <string>
#include <vector>

namespace tessera {

/// A slice of an image in square pixels, as a lattice of points.
template <int D>
struct PictureSlice {
  ImageGeometry<D> lattice; // axis 0 runs right in the picture, axis 1 down; one voxel along the others
  std::string plane;        // "axial", "coronal", "sagittal"; "" in 2D
  std::string position;     // "S 34 mm": where the slice is along the axis through it; "" in 2D
  std::array<std::string, 4> letters; // of the patient, at the left, right, upper and lower border; "" in 2D
};

/// Slices of the axial, the coronal and the sagittal plane, with the patient's left, back and head to the
/// right, below and above: `slicesOfPlane` in each, in equal steps from voxel `first` to voxel `last`. Axes
/// that are oblique are taken for the nearest anatomical ones. In 2D the image itself. Pixels are squares of
/// the smallest spacing; those of a small image are an integer times smaller, so that its longest side comes
/// as near to `wantedPixels` as it can, those of a large one larger, so that it has at most `maxPixels`. The
/// points of a lattice lie in the geometry; letters and planes are those of the direction in the image's
/// header, which a registration may leave out of account.
template <int D>
std::vector<PictureSlice<D>> pictureSlices(const ImageGeometry<D>&, const Matrix<D>& headerDirection,
                                           const Size<D>& first, const Size<D>& last,
                                           std::size_t slicesOfPlane, std::size_t wantedPixels,
                                           std::size_t maxPixels);

/// Gives a slice of a series, whose last axis is time, other names: "time", "3 of 0 to 9" to that of one
/// time, "x-time" and "y-time" to those of lines through time.
template <int D>
void nameByTime(PictureSlice<D>&, const ImageGeometry<D>& series);

/// 1, 2 or 5 times a power of 10: about a twentieth of the largest side, in mm.
template <int D>
double roundStepMm(const ImageGeometry<D>&);

/// Every n-th point of a lattice of pixels along both axes of the picture.
template <int D>
ImageGeometry<D> everyNthPixel(const ImageGeometry<D>& lattice, std::size_t n);

}
