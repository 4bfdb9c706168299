#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/BlockThreads.h"
#include "Tools/Bench/Model/GpuRates.h"

namespace tessera {

/// The block sizes that the model chooses, for three numbers of items, for the kernels that gain by it: the
/// pull-back of drawn samples ("adjoint") and the prefilter along rows. The others keep their constants. The
/// context must be on a CUDA device.
BlockSizes chosenBlockSizes(Context&, const GpuRates&);

}
