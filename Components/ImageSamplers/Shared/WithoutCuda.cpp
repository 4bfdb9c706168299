#include "Components/ImageSamplers/Shared/DrawsOnCuda.h"

// In place of DrawsOnCuda.cu in a build without the CUDA toolkit.
namespace tessera {
namespace {

[[noreturn]] void fail()
{
  throw Error(ExitCode::device, "ImageSampler: this build has no CUDA. Allowed: (Device \"cpu\").");
}

}

template <int D>
void DrawsOnCuda<D>::drawVoxels(Context&, const Draw&, const VoxelBox<D>&)
{
  fail();
}

template <int D>
void DrawsOnCuda<D>::drawVoxels(Context&, const Draw&, std::span<const std::size_t>)
{
  fail();
}

template <int D>
void DrawsOnCuda<D>::drawPoints(Context&, const Draw&, const IndexBox<D>&, const InterpolatorOnCuda<D>&)
{
  fail();
}

template class DrawsOnCuda<2>;
template class DrawsOnCuda<3>;

}
