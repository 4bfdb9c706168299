#pragma once

#include "Core/Runs/Resampling/LargeImage.h"

namespace tessera {

/// resampleLargeImage on the CUDA device of the batch: slices of the image are read from the file to the
/// device in pieces of a few MB, and slabs of the result are copied back.
template <int D>
LargeImageReport resampleLargeImageOnCuda(const ImageBatch<D>&, const LargeImage&);

}
