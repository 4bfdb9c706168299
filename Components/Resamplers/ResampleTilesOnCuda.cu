#include "Components/FieldInterpolators/SeparableMarch.cuh"
#include "Components/Resamplers/ResamplingKernels.cuh"

namespace tessera {
namespace {

using namespace resampling;
using namespace separable;

constexpr int mostThreads = 256, wantedRows = 20;
constexpr std::size_t sharedBytesForPoints = 40 << 10;

/// Looks each displaced voxel of a march up in the moving image.
template <int D, Interpolation Kind>
struct ResamplingSink {
  const LatticeToResample<D>& r;
  const SplineToResample<D>& s;
  long long index[D], step[D];
  float* to;

  template <class Place>
  __device__ ResamplingSink(const LatticeToResample<D>& lattice, const FixedPointMap<D>& map, const SplineToResample<D>& spline,
                            const Place& place)
      : r(lattice), s(spline)
  {
    Voxel<D> voxel;
    voxel.index[0] = place.x;
    voxel.index[1] = place.y;
    if constexpr (D == 3)
      voxel.index[2] = place.z;
    indexAt<D>(map, voxel, index);
#pragma unroll
    for (int d = 0; d < D; ++d)
      step[d] = map.step[d][1];
    const std::size_t row =
        D == 3 ? static_cast<std::size_t>(place.z - r.firstLayer) * r.size[1] + place.y : place.y - r.firstLayer;
    to = r.voxels + row * r.size[0] + place.x;
  }
  __device__ __forceinline__ void operator()(const float (&u)[D])
  {
    float shift[D];
    shiftBy<D>(s, u, shift);
    resampleInCell<D, Kind>(r, shiftedCell<D>(index, shift), to);
    to += r.size[0];
#pragma unroll
    for (int d = 0; d < D; ++d)
      index[d] += step[d];
  }
};

template <int D, Interpolation Kind>
__global__ void __launch_bounds__(mostThreads, orderOf(Kind) < 4 ? 3 : 2)
    resampleTiles(const __grid_constant__ LatticeToResample<D> r, const __grid_constant__ FixedPointMap<D> map,
                  const __grid_constant__ SplineToResample<D> s, const __grid_constant__ March<D> march)
{
  extern __shared__ float4 shared[];
  displaceRows<D, 3>(march, shared, [&](const auto& place) { return ResamplingSink<D, Kind>(r, map, s, place); });
}

}

template <int D>
void resampleByTiles(Context& context, const LatticeToResample<D>& r, const FixedPointMap<D>& index, const SplineToResample<D>& s,
                     const AlignedField<D>& field)
{
  const BlockShape shape =
      shapeFor(field, warpsOfFewestIdleLanes(field.axes[0].voxels), wantedRows, depthOf<D>, sizeof(float4), sharedBytesForPoints);
  March<D> march = marchOf(field, s.coefficients, FieldTarget{}, shape);
  march.firstLayer = r.firstLayer;
  march.endLayer = r.endLayer;
  withInterpolation(r.image, [&]<Interpolation Kind>() {
    resampleTiles<D, Kind><<<blocksOf(march), threadsOf(shape), sharedBytes<D>(shape), cudaStreamOf(context)>>>(r, index, s, march);
  });
  checkLaunch("resampling by tiles");
}

template void resampleByTiles<2>(Context&, const LatticeToResample<2>&, const FixedPointMap<2>&, const SplineToResample<2>&,
                                 const AlignedField<2>&);
template void resampleByTiles<3>(Context&, const LatticeToResample<3>&, const FixedPointMap<3>&, const SplineToResample<3>&,
                                 const AlignedField<3>&);

}
