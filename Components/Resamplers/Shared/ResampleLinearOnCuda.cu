#include "Components/Resamplers/Shared/ResamplingKernels.cuh"

namespace tessera {
namespace {

using namespace resampling;

/// A chain that is one linear map. For each warp's run of voxels x:
///
///   whole, fraction = index of the moving image at the run's middle, in double precision
///   if the run is certainly outside: write the outside value
///   for each voxel of a lane: index = start + number * step, relative to `whole`, in single precision
///     if rounding may change a decision about the voxel: mark it for resampleUnsureVoxels
///     else: write the interpolated value, with the checks of border and mask that the run needs
template <int D, Interpolation Kind, Form Which>
__global__ void __launch_bounds__(32 * warpsOfBlock, orderOf(Kind) < 2   ? 16
                                                     : orderOf(Kind) < 4 ? 8
                                                                         : 4)
    resampleLinear(const __grid_constant__ LatticeToResample<D> r, const __grid_constant__ IndexMap<D> map,
                   const __grid_constant__ RunShape shape)
{
  const Run<D> run(r, shape);
  if (run.isEmpty)
    return;
  const MiddleOfRun<D> middle(map, run);
  const auto resample = [&]<Asked Asks>() {
    const Window<D> window(r, middle);
    const StraightPath<D> path(map, run, middle);
    LaneSpans<D> spans;
    if constexpr (Asks == Asked::border)
      spans = {path.start, path.step, window, beltOfSpans<D, Kind>(r), run.isInLattice};
    if (!run.isInLattice)
      return;
    float* to = run.target(r, run.firstNumber);
    resampleVoxels<D, Kind, Asks>(r, window, path, run.firstNumber, run.endNumber, to, run.stride(r), spans);
  };
  const float reach = map.reach[middle.axis];
  resampleWhere<D, Kind, Which>(r, run, middle, middle.fraction - reach, middle.fraction + reach, resample);
}

}

template <int D>
void resampleLinearly(Context& context, const LatticeToResample<D>& r, const IndexMap<D>& index,
                      const RunShape& shape)
{
  withForm<D>(r, [&]<Interpolation Kind, Form Which>() {
    resampleLinear<D, Kind, Which>
        <<<blocksFor(r, shape), threadsOf(shape), 0, cudaStreamOf(context)>>>(r, index, shape);
  });
  checkLaunch("resampling by a linear map");
}

TESSERA_INSTANTIATE_FUNCTIONS(resampleLinearly<D>);

}
