#pragma once

#include "Core/Registration/Transform.h"
#include "Core/Registry/Registry.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera {

/// A transform of ITK's as our transform parameter file would say it: a name of ours, TransformParameters and
/// what else its transform restores from. `path` stands for the file in messages. Throws
/// Error(unreadableInput) for another dimension, and for classes that have no counterpart, with those that
/// have one.
template <int D>
ParameterMap parametersFromItk(const ItkTransform& transform, const std::string& path);

/// Transforms of an ITK file, of which the last is applied first, after `initial` (null: none).
template <int D>
std::shared_ptr<const TransformChain<D>>
chainFromItk(const std::vector<ItkTransform>& transforms, const Registry&, const std::string& path,
             const Parameters::Warn& warn, std::shared_ptr<const TransformChain<D>> initial = nullptr);

/// D of a class name such as "AffineTransform_double_3_3"; 0 if it says none.
std::size_t itkDimension(const std::string& className);

}
