#include "Components/ImageSamplers/Shared/DrawsOnCuda.cuh"

namespace tessera {

template void DrawsOnCuda<2>::drawVoxels(Context&, const Draw&, const VoxelBox<2>&);
template void DrawsOnCuda<3>::drawVoxels(Context&, const Draw&, const VoxelBox<3>&);

}
