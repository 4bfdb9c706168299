#include "Components/Resamplers/ResamplingKernels.cuh"

namespace tessera {
namespace {

using namespace resampling;

template <int D, Interpolation Kind, Form Which>
__global__ void __launch_bounds__(32 * warpsOfBlock, orderOf(Kind) < 2   ? 6
                                                     : orderOf(Kind) < 4 ? 4
                                                                         : 2)
    resampleLinear(const __grid_constant__ LatticeToResample<D> r, const __grid_constant__ IndexMap<D> map,
                   const __grid_constant__ RunShape shape)
{
  const Run<D> run(r, shape);
  if (run.isEmpty)
    return;
  const StraightPath<D> path(map, run);
  const Window<D> window(r, path.whole);
  Box<D> box;
#pragma unroll
  for (int d = 0; d < D; ++d) {
    box.lowest[d] = path.middle[d] - map.reach[d];
    box.highest[d] = path.middle[d] + map.reach[d];
  }
  const std::ptrdiff_t stride = run.stride(r);
  float* const to = run.target(r, run.firstNumber);
  const auto resample = [&]<Asked Asks>() {
    const LaneSpans<D> spans(path.start, path.step, window, {}, {}, beltOfSpans<D, Kind>(r));
    resampleColumn<D, Kind, Asks, voxelsTogether(Kind, Asks)>(r, window, path, run.firstNumber, run.endNumber, to, stride, spans);
  };
  resampleInBox<D, Kind, Which>(r, window, box, resample, [&] { fillColumn<D>(r, run.firstNumber, run.endNumber, to, stride); });
}

}

template <int D>
void resampleLinearly(Context& context, const LatticeToResample<D>& r, const IndexMap<D>& index, const RunShape& shape)
{
  withForm(r, [&]<Interpolation Kind, Form Which>() {
    resampleLinear<D, Kind, Which><<<blocksFor(r, shape), threadsOfRuns(), 0, cudaStreamOf(context)>>>(r, index, shape);
  });
  checkLaunch("resampling by a linear map");
}

template void resampleLinearly<2>(Context&, const LatticeToResample<2>&, const IndexMap<2>&, const RunShape&);
template void resampleLinearly<3>(Context&, const LatticeToResample<3>&, const IndexMap<3>&, const RunShape&);

}
