#pragma once

#include "Core/Registration/OptimizableTransform.h"
#include "Core/Registry/Registry.h"

#include <string>
#include <vector>

namespace tessera {

Parameters benchParameters(const std::string& text, const std::string& label, int dimension);

/// A grid with voxels of 0.8 x 0.8 (x 1.1) mm.
template <int D>
ImageGeometry<D> benchGrid(const Size<D>&);

constexpr double intensityRange = 1000; // the range of benchImage

/// An image with intensities from 0 to intensityRange: waves within an ellipsoid with a sharp border, on a
/// background of noise.
template <int D>
ImagePointer<D> benchImage(const Context&, const ImageGeometry<D>&);

/// The composition of transforms named by the letters of `word`, the last one applied first: T translation, E
/// Euler, S similarity, A affine, each by some degrees, per cent or voxels about the grid's centre; B a cubic
/// B-spline with control points so many voxels apart and displacements of up to about 0.3 of that. Throws
/// Error(usage) for other letters and for more than 8.
template <int D>
std::shared_ptr<const TransformChain<D>> benchChain(const Registry&, const std::string& word,
                                                    const ImagePointer<D>& fixed,
                                                    double controlPointVoxels = 10);

/// The transforms of a chain in the order of ITK's composites: the last one is applied first.
template <int D>
std::vector<ItkTransform> itkTransformsOf(const TransformChain<D>&);

}
