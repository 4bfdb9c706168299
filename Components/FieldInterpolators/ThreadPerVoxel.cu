#include "Components/FieldInterpolators/Shared/FieldKernels.cuh"
#include "Components/FieldInterpolators/ThreadPerVoxel.h"
#include "Core/Compute/Math/WithConstant.h"

namespace tessera {
namespace {

/// Eq. 1 of Zachariadis et al. 2020 for one voxel, term by term. It loads (Order + 1)^D * D floats from the
/// caches and about 20 * D bytes of tables, and stores 4 * D bytes. A cubic in 3D takes 252 operations and
/// 192 loads a voxel; its limit is the rate at which L1 returns loads.
template <int D, int Order>
struct VoxelSum {
  VoxelGrid lattice;
  ControlGrid grid;
  AxisTable tables[D];
  FieldStore store;

  TESSERA_HOST_DEVICE void operator()(int x, unsigned row) const
  {
    const std::size_t voxel = lattice.voxel(x, row);
    if (!store.wants(voxel))
      return;
    const int index[3] = {x, static_cast<int>(row % lattice.voxels[1]),
                          static_cast<int>(row / lattice.voxels[1])};
    float u[D] = {}, weights[D][4];
    std::size_t corner = 0, pitch = 1;
    bool inside = true;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d) {
      const int start = tables[d].starts[index[d]];
      inside = inside && start >= 0;
      corner += start * pitch;
      pitch *= grid.points[d];
      const float4 entry = tables[d].entries[index[d]];
      weights[d][0] = entry.x, weights[d][1] = entry.y, weights[d][2] = entry.z, weights[d][3] = entry.w;
    }
    if (inside) {
      TESSERA_UNROLL
      for (int c = 0; c < D; ++c)
        u[c] = sum(grid.coefficients + c * grid.perComponent + corner, weights);
    }
    store.all(voxel, u);
  }

private:
  TESSERA_HOST_DEVICE float sum(const float* corner, const float (&weights)[D][4]) const
  {
    constexpr int sliceCount = D == 3 ? Order + 1 : 1;
    const std::size_t slicePitch = static_cast<std::size_t>(grid.points[0]) * grid.points[1];
    float slices[sliceCount];
    TESSERA_UNROLL
    for (int k = 0; k < sliceCount; ++k) {
      float rows[Order + 1];
      TESSERA_UNROLL
      for (int j = 0; j <= Order; ++j) {
        const float* first = corner + (k * slicePitch + j * static_cast<std::size_t>(grid.points[0]));
        float points[Order + 1];
        TESSERA_UNROLL
        for (int i = 0; i <= Order; ++i)
          points[i] = loadConstant(first + i);
        rows[j] = weightedSum(weights[0], points);
      }
      slices[k] = weightedSum(weights[1], rows);
    }
    return D == 3 ? weightedSum(weights[D - 1], slices) : slices[0];
  }
};

template <int Order, int D>
void launch(Context& context, const AlignedField<D>& field, const FieldCoefficients& coefficients,
            const FieldTarget& target)
{
  const auto tables = AxisTables<D>::template of<SplineWeights<Order>>(context, field);
  VoxelSum<D, Order> work{
      voxelGridOf(field), controlGridOf(field, coefficients), {}, fieldStoreOf(field, target)};
  for (int d = 0; d < D; ++d)
    work.tables[d] = tables[d];
  launchForEachVoxel(context, work, "ThreadPerVoxel");
}

}

template <int D>
void ThreadPerVoxel<D>::displacements(Context& context, const AlignedField<D>& field,
                                      const FieldCoefficients& coefficients, const FieldTarget& target) const
{
  withConstant<1, 3>(field.order, [&]<int Order>() { launch<Order>(context, field, coefficients, target); });
}

TESSERA_INSTANTIATE_CLASS(ThreadPerVoxel);

}
