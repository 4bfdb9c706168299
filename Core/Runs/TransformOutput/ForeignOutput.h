#pragma once

#include "Core/Runs/TransformOutput/TransformOutput.h"

namespace tessera {

/// writeTransform for the formats of other programs: ants, fsl, niftyreg, greedy and freesurfer.
template <int D>
std::vector<std::string> writeForeign(Context&, const Registry&, const TransformOutput<D>&, Log&);

/// T(x) - x of the output's chain in mm on its lattice, with the grid that files have.
template <int D>
VectorImage<D> outputField(Context&, const Registry&, const TransformOutput<D>&, const TransformChain<D>&,
                           Log&);

/// This is outputField() after leadOutside().
template <int D>
VectorImage<D> wholeField(Context&, const Registry&, const TransformOutput<D>&, const TransformChain<D>&,
                          Log&);

/// Replaces NaN, which stands where an inverse has no root, by a displacement that leads out of any image:
/// many programs cannot read NaN, and ITK's reader of NIfTI takes it as 0, which would be a wrong root.
template <int D>
void leadOutside(VectorImage<D>& field);

}
