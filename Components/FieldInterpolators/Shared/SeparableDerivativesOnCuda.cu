#include "Components/FieldInterpolators/Shared/FieldKernels.cuh"
#include "Components/FieldInterpolators/Shared/SeparableOnCuda.h"
#include "Core/Compute/Math/WithConstant.h"

namespace tessera {
namespace {

/// An entry of a table: the derivatives of SplineWeights by the grid's index.
template <int Order>
struct SplineSlopes {
  static constexpr int order = Order;
  TESSERA_HOST_DEVICE static float4 of(const AxisSupport& support)
  {
    float s[4] = {};
    axisDerivatives<Order, float>(support, s);
    return make_float4(s[0], s[1], s[2], s[3]);
  }
};

TESSERA_HOST_DEVICE inline float determinantOf(const float (&m)[2][2])
{
  return fmaf(m[0][0], m[1][1], -m[0][1] * m[1][0]);
}
TESSERA_HOST_DEVICE inline float determinantOf(const float (&m)[3][3])
{
  const float a = fmaf(m[1][1], m[2][2], -m[1][2] * m[2][1]), b = fmaf(m[1][0], m[2][2], -m[1][2] * m[2][0]),
              c = fmaf(m[1][0], m[2][1], -m[1][1] * m[2][0]);
  return fmaf(m[0][0], a, fmaf(-m[0][1], b, m[0][2] * c));
}

/// dT/dx = I + (du / d index) (d index / dx) of one voxel, row by row, or its determinant. It loads
/// (Order + 1)^D * D floats from the caches, and stores 4 bytes a component.
template <int D, int Order, bool OfDeterminant>
struct VoxelJacobian {
  VoxelGrid lattice;
  ControlGrid grid;
  AxisTable weights[D], slopes[D];
  FieldStore store;
  float indexFromOffset[D][D];

  TESSERA_HOST_DEVICE void operator()(int x, unsigned row) const
  {
    const std::size_t voxel = lattice.voxel(x, row);
    if (!store.wants(voxel))
      return;
    const int index[3] = {x, static_cast<int>(row % lattice.voxels[1]),
                          static_cast<int>(row / lattice.voxels[1])};
    float w[D][4], s[D][4], byIndex[D][D] = {};
    std::size_t corner = 0, pitch = 1;
    bool inside = true;
    TESSERA_UNROLL
    for (int d = 0; d < D; ++d) {
      const int start = weights[d].starts[index[d]];
      inside = inside && start >= 0;
      corner += start * pitch;
      pitch *= grid.points[d];
      unpack(weights[d].entries[index[d]], w[d]);
      unpack(slopes[d].entries[index[d]], s[d]);
    }
    if (inside)
      addPoints(grid.coefficients + corner, w, s, byIndex);
    float jacobian[D][D], values[D * D];
    TESSERA_UNROLL
    for (int r = 0; r < D; ++r) {
      TESSERA_UNROLL
      for (int c = 0; c < D; ++c) {
        jacobian[r][c] = r == c ? 1 : 0;
        TESSERA_UNROLL
        for (int a = 0; a < D; ++a)
          jacobian[r][c] = fmaf(byIndex[r][a], indexFromOffset[a][c], jacobian[r][c]);
        values[r * D + c] = jacobian[r][c];
      }
    }
    if constexpr (OfDeterminant)
      store.all(voxel, {determinantOf(jacobian)});
    else
      store.all(voxel, values);
  }

private:
  TESSERA_HOST_DEVICE static void unpack(const float4& entry, float (&to)[4])
  {
    to[0] = entry.x, to[1] = entry.y, to[2] = entry.z, to[3] = entry.w;
  }

  /// Adds what the control points of a support contribute to the derivatives by the grid's index.
  TESSERA_HOST_DEVICE void addPoints(const float* corner, const float (&w)[D][4], const float (&s)[D][4],
                                     float (&byIndex)[D][D]) const
  {
    const std::size_t slicePitch = static_cast<std::size_t>(grid.points[0]) * grid.points[1];
    TESSERA_UNROLL
    for (int k = 0; k < (D == 3 ? Order + 1 : 1); ++k) {
      TESSERA_UNROLL
      for (int j = 0; j <= Order; ++j) {
        const float* const row = corner + (k * slicePitch + j * static_cast<std::size_t>(grid.points[0]));
        const float wz = D == 3 ? w[D - 1][k] : 1, byY = s[1][j] * wz, alongX = w[1][j] * wz;
        TESSERA_UNROLL
        for (int i = 0; i <= Order; ++i) {
          float slopes[D] = {s[0][i] * alongX, w[0][i] * byY};
          if constexpr (D == 3)
            slopes[2] = w[0][i] * w[1][j] * s[2][k];
          TESSERA_UNROLL
          for (int c = 0; c < D; ++c) {
            const float point = loadConstant(row + c * grid.perComponent + i);
            TESSERA_UNROLL
            for (int a = 0; a < D; ++a)
              byIndex[c][a] = fmaf(slopes[a], point, byIndex[c][a]);
          }
        }
      }
    }
  }
};

template <bool OfDeterminant, int D>
void launch(Context& context, const AlignedField<D>& field, const float* coefficients,
            const FieldTarget& target)
{
  withConstant<1, 3>(field.order, [&]<int Order>() {
    const auto weights = AxisTables<D>::template of<SplineWeights<Order>>(context, field),
               slopes = AxisTables<D>::template of<SplineSlopes<Order>>(context, field);
    VoxelJacobian<D, Order, OfDeterminant> work{voxelGridOf(field),
                                                controlGridOf(field, {nullptr, coefficients}),
                                                {},
                                                {},
                                                fieldStoreOf(field, target, OfDeterminant ? 1 : D * D),
                                                {}};
    for (int d = 0; d < D; ++d) {
      work.weights[d] = weights[d];
      work.slopes[d] = slopes[d];
      for (int c = 0; c < D; ++c)
        work.indexFromOffset[d][c] = static_cast<float>(field.indexFromOffset[d][c]);
    }
    launchForEachVoxel(context, work, "Jacobians of a field");
  });
}

}

template <int D>
void separableJacobiansOnCuda(Context& context, const AlignedField<D>& field, const float* coefficients,
                              const FieldTarget& target)
{
  launch<false>(context, field, coefficients, target);
}

template <int D>
void separableJacobianDeterminantsOnCuda(Context& context, const AlignedField<D>& field,
                                         const float* coefficients, const FieldTarget& target)
{
  launch<true>(context, field, coefficients, target);
}

TESSERA_INSTANTIATE_FUNCTIONS(separableJacobiansOnCuda<D>, separableJacobianDeterminantsOnCuda<D>);

}
