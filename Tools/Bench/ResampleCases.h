#pragma once

#include "Core/Registration/Transform.h"
#include "Core/Registry/Registry.h"

#include <string>
#include <vector>

namespace tessera {

Parameters benchParameters(const std::string& text, const std::string& label, int dimension);

/// Voxels of 0.8 x 0.8 (x 1.1) mm.
template <int D>
ImageGeometry<D> benchGrid(const Size<D>&);

constexpr double intensityRange = 1000; // of benchImage

/// Intensities from 0 on: waves within an ellipsoid with a sharp border, on a background of noise.
template <int D>
ImagePointer<D> benchImage(const Context&, const ImageGeometry<D>&);

/// The composition of the letters of `word`, the last one applied first: T translation, E Euler, S
/// similarity, A affine, each by some degrees, per cent or voxels about the grid's centre, B a cubic B-spline
/// on control points 10 voxels apart, displacing by up to about 3 voxels. Throws Error(usage) for other
/// letters and more than 8.
template <int D>
std::shared_ptr<const TransformChain<D>> benchChain(const Registry&, const std::string& word,
                                                    const ImagePointer<D>& fixed);

/// Its transforms, first to last as ITK's composites have them: the last one is applied first.
template <int D>
std::vector<ItkTransform> itkTransformsOf(const TransformChain<D>&);

}
