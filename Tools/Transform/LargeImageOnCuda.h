#pragma once

#include "Tools/Transform/LargeImage.h"

namespace tessera {

/// As resampleLargeImage, on the batch's CUDA device: slices of the image go there from the file, through
/// pieces of the host's memory that do not grow with it, and those of the result come from there in slabs.
template <int D>
LargeImageReport resampleLargeImageOnCuda(const ImageBatch<D>&, const LargeImage&);

}
