#pragma once

#include "Core/Image/Files/ImageFile.h"
#include "Core/Image/Voxels/LabelTable.h"

#include <string>

namespace tessera {

/// A label map as floats, of which interpolators may choose one but never mix several.
template <int D>
struct LabelImage {
  LoadedImage<D> loaded;
  LabelTable table;
};

/// Reads a label map. `outside` is the value of voxels outside of it. Throws as readImage, also for colours.
template <int D>
LabelImage<D> readLabelImage(const std::string& path, const ReadingOptions&, double outside, int threads);

/// Throws Error(unreadableInput) unless the image has one component a voxel.
void requireLabels(const ImageHeader&);

/// Throws Error(unreadableInput) if a value in memory is finite and no whole number.
void requireWholeLabels(const std::string& path, std::span<const float> values);

}
