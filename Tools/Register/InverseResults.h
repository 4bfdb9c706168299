#pragma once

#include "Core/Registry/Registry.h"
#include "Core/Runs/RunListener.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera {

/// Writes InverseTransformParameters.N.txt beside the transform of the last stage N, with a field beside it
/// if the transform is not linear, and carries --fLabels to the grid of the moving image. `chain` is the
/// result of the stage. Returns the files. Throws Error, as inverseChain does.
template <int D>
std::vector<std::string> writeInverseResults(const Registry&, const RunRequest&, const RunningStage<D>&,
                                             const std::string& folder,
                                             const std::shared_ptr<const TransformChain<D>>& chain, Log&);

}
