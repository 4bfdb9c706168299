#pragma once

#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Voxels/LabelTable.h"

#include <string>

namespace tessera {

/// A label map as floats that interpolators may choose from, but not mix.
template <int D>
struct LabelImage {
  LoadedImage<D> loaded;
  LabelTable table;
};

/// `outside` is the value of voxels for which there will be no label. Errors as readImage; colour is refused
/// too.
template <int D>
LabelImage<D> readLabelImage(const std::string& path, double outside, int threads);

/// Throws Error(unreadableInput) unless the image has one component a voxel.
void requireLabels(const ImageHeader&);

}
