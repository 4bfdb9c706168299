#pragma once

#include "Core/Compute/Log.h"
#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Core/Registry/Registry.h"
#include "Core/Runs/Transforming/TransformRequest.h"

#include <optional>

namespace tessera {

/// The dimension of the transforms, 2 or 3. Throws Error(usage) for another, and if they differ.
std::size_t dimensionOf(const TransformRequest&);

/// The transforms of a request.
template <int D>
struct TransformInputs {
  /// The chain of all files, each applied after the ones before it, those of --inverse-of inverted, without
  /// --inverse. The output grid is that of --grid, else of the first file; --spacing is applied. The settings
  /// of resampling are those of the request, else of the last file.
  TransformFileContent<D> file;
  std::optional<ImageGeometry<D>> moving; // the grid of --moving
};

/// Reads the transforms. Throws Error as readTransformFile, and Error(usage) if files do not go together.
template <int D>
TransformInputs<D> readTransforms(Context& cpu, const Registry&, const TransformRequest&, Log&);

}
