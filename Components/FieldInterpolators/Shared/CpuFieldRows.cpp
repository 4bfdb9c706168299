#include "Components/FieldInterpolators/Shared/CpuFieldRows.h"

#include "Core/Compute/Math/WithConstant.h"

namespace tessera {
namespace {

template <int Order>
void fillWeights(AxisTable& table, const FieldAxis& axis, bool withDerivatives)
{
  for (int voxel = 0; voxel < axis.voxels; ++voxel) {
    const AxisSupport support = supportOf(axis, voxel, Order);
    double weights[Order + 1], derivatives[Order + 1];
    axisWeights<Order>(support, weights);
    axisDerivatives<Order>(support, derivatives);
    for (int k = 0; k <= Order; ++k) {
      table.weights[k * table.stride + voxel] = weights[k];
      if (withDerivatives)
        table.derivatives[k * table.stride + voxel] = support.inside ? derivatives[k] : 0;
    }
    const int start = support.inside ? support.start : AxisRun::noSupport;
    table.starts.push_back(start);
    if (voxel == 0 || table.runs.back().start != start)
      table.runs.push_back({voxel, 0, start});
    ++table.runs.back().voxels;
  }
}

template <int Components>
void interleave(const float* const* rows, std::size_t first, std::size_t count, float* out)
{
  for (std::size_t i = 0; i < count; ++i)
    for (int c = 0; c < Components; ++c)
      out[i * Components + c] = rows[c][first + i];
}

}

AxisTable::AxisTable(const FieldAxis& axis, int order, bool withDerivatives)
    : taps(order + 1), voxels(axis.voxels), points(axis.points), stride(axis.voxels + padding)
{
  weights.resize((order + 1) * static_cast<std::size_t>(stride));
  if (withDerivatives)
    derivatives.resize(weights.size());
  starts.reserve(axis.voxels);
  withConstant<1, 3>(order, [&]<int Order>() { fillWeights<Order>(*this, axis, withDerivatives); });
}

AxisTable AxisTable::single()
{
  AxisTable table;
  table.taps = table.voxels = table.points = 1;
  table.stride = 1 + padding;
  table.runs = {{0, 1, 0}};
  table.starts = {0};
  table.weights.assign(table.stride, 0);
  table.weights[0] = 1;
  table.derivatives.assign(table.stride, 0);
  return table;
}

FieldWriter::FieldWriter(const FieldTarget& target, std::size_t voxels, int components)
    : target_(target), voxels_(voxels), components_(components)
{
}

bool FieldWriter::wants(std::size_t firstVoxel, std::size_t count) const
{
  if (!target_.mask)
    return true;
  unsigned any = 0;
  for (std::size_t i = 0; i < count; ++i)
    any |= target_.mask[firstVoxel + i];
  return any != 0;
}

void FieldWriter::write(std::size_t firstVoxel, std::size_t count, const float* const* rows) const
{
  if (planar()) {
    for (int c = 0; c < components_; ++c)
      writeComponent(c, firstVoxel, count, rows[c]);
    return;
  }
  constexpr std::size_t piece = 256;
  float together[piece * 9];
  for (std::size_t first = 0; first < count; first += piece) {
    const std::size_t part = std::min(piece, count - first);
    if (components_ == 3)
      interleave<3>(rows, first, part, together);
    else if (components_ == 2)
      interleave<2>(rows, first, part, together);
    else if (components_ == 4)
      interleave<4>(rows, first, part, together);
    else if (components_ == 9)
      interleave<9>(rows, first, part, together);
    else
      interleave<1>(rows, first, part, together);
    std::copy_n(together, part * components_, target_.values + (firstVoxel + first) * components_);
  }
}

}
