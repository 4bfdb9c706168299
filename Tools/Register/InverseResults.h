#pragma once

#include "Core/Registry/Registry.h"
#include "Core/Runs/RunListener.h"

#include <string>
#include <vector>

namespace tessera {

/// The inverse of a result on the grid of the moving image, as files get it: displacements where it is
/// searched. Throws Error, as inverseChain does.
template <int D>
ChainPointer<D> inverseOfResult(const Registry&, Context, const ChainPointer<D>& chain,
                                const ImageGeometry<D>& moving, Log&);

/// Writes InverseTransformParameters.N.txt beside the transform of the last stage N, with a field beside it
/// if the transform is not linear, and carries --fLabels to the grid of the moving image. `chain` is the
/// result of the stage; `inverse` is made here if it is null. Returns the files. Throws Error.
template <int D>
std::vector<std::string> writeInverseResults(const Registry&, const RunRequest&, const RunningStage<D>&,
                                             const std::string& folder, const ChainPointer<D>& chain, Log&,
                                             ChainPointer<D> inverse = nullptr);

}
