#pragma once

#include "Core/Registration/Transform.h"
#include "Core/Registry/Registry.h"

#include <string>
#include <vector>

namespace tessera {

/// An ITK transform as the entries of one of our transform parameter files: our name for it,
/// TransformParameters, and all that our transform restores from. `path` names the file in messages. Throws
/// Error(unreadableInput) for another dimension, and for classes that we do not have, with a list of those
/// that we have.
template <int D>
ParameterMap parametersFromItk(const ItkTransform& transform, const std::string& path,
                               const Parameters::Warn& warn);

/// The chain of the transforms in an ITK file, where the last one is applied first, after `initial` (null:
/// none).
template <int D>
ChainPointer<D> chainFromItk(const std::vector<ItkTransform>& transforms, const Registry&,
                             const std::string& path, const Parameters::Warn& warn,
                             ChainPointer<D> initial = nullptr);

/// x -> A x + b (mm) as ITK's affine transform, with its centre at the origin.
template <int D>
ItkTransform itkAffine(const AffineMap<D>&);

/// A B-spline as ITK's transform. Its grid must not be cyclic.
template <int D>
ItkTransform itkBSpline(const BSplineGrid<D>&, std::span<const double> coefficientsMm);

/// A chain of one displacement field, T(x) = x + u(x), interpolated linearly; `path` names its file. Throws
/// Error(unreadableInput) unless it has D finite components a voxel.
template <int D>
ChainPointer<D> chainFromField(VectorImage<D>, const Registry&, const std::string& path);

}
