#include "Components/ImageSamplers/Shared/DrawsOnCuda.cuh"

namespace tessera {

template void DrawsOnCuda<2>::drawVoxels(Context&, const Draw&, std::span<const std::size_t>);
template void DrawsOnCuda<3>::drawVoxels(Context&, const Draw&, std::span<const std::size_t>);

}
