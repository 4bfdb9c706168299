#include "Components/Resamplers/ResamplingKernels.cuh"

namespace tessera {
namespace {

using namespace resampling;

template <int D, int Order>
__global__ void __launch_bounds__(256) resamplePoints(const __grid_constant__ LatticeToResample<D> r)
{
  const RowsOfThread<D> mine(r, 1);
  if (mine.rows > 0)
    *mine.to = valueByPoint<D, Order>(r, mine.voxel);
}

}

template <int D>
void resampleByPoints(Context& context, const LatticeToResample<D>& r)
{
  withOrder(r.image.order, [&]<int Order>() {
    const dim3 threads(32, 8);
    resamplePoints<D, Order><<<blocksFor(r, threads, 1), threads, 0, cudaStreamOf(context)>>>(r);
  });
  checkLaunch("resampling by points");
}

template void resampleByPoints<2>(Context&, const LatticeToResample<2>&);
template void resampleByPoints<3>(Context&, const LatticeToResample<3>&);

}
