#pragma once

#include "Core/Compute/Context.h"
#include "Core/Image/ImageInMemory.h"

#include <optional>

namespace tessera {

/// A value that many voxels share and that lies beside all others, such as -2048, -32768 or 1e20 where a
/// program had no data.
struct ConstantFilling {
  float value = 0;
  std::size_t voxels = 0;
  float least = 0, greatest = 0; // of all other voxels
  bool isFar = false;            // farther from all others than these lie from each other
};

/// The least or the greatest value of an image, if it is such a filling of at least a thousandth of the
/// voxels and the others have many values: a negative one at least a fifth of the range of the others away
/// from them, others farther than that range. 0 is none: it is the usual background. Voxels that are not
/// finite do not count.
template <int D>
std::optional<ConstantFilling> findConstantFilling(const Context&, const CheckedImage<D>&);

/// The value of all voxels; none: they differ.
template <int D>
std::optional<float> onlyValue(const Context&, const ImagePointer<D>&);

/// An image as a registration takes it.
template <int D>
struct PreparedVoxels {
  ImagePointer<D> image;           // every voxel has a value
  MaskPointer<D> valid;            // the voxels that are not left out; null: all
  std::optional<float> background; // the value of those that became background
};

/// Gives values to the voxels that are not finite and to those of `filling`, unless it is null. If they
/// surround an object, they become its background: the least of the others, or, without a filling, 0 if that
/// lies within their range, or up to a hundredth of it beside. Else they are left out, and get means of their
/// neighbours, so that smoothing needs no mask: the weights are Gaussians whose width doubles until they
/// reach voxels with values (normalized convolution: Knutsson and Westin, "Normalized and differential
/// convolution", 1993).
template <int D>
PreparedVoxels<D> prepareVoxels(Context&, const CheckedImage<D>&, const ConstantFilling* filling);

}
