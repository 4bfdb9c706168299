#include "Components/ImageSamplers/Shared/DrawsOnCuda.cuh"

namespace tessera {

template void DrawsOnCuda<2>::drawPoints(Context&, const Draw&, const IndexBox<2>&,
                                         const InterpolatorOnCuda<2>&);
template void DrawsOnCuda<3>::drawPoints(Context&, const Draw&, const IndexBox<3>&,
                                         const InterpolatorOnCuda<3>&);

}
