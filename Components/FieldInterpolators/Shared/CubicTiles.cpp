#include "Components/FieldInterpolators/Shared/CubicTiles.h"

#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr int cubic = 3;

template <int D>
class TiledField {
public:
  TiledField(const AlignedField<D>& field, const double* coefficients, const FieldTarget& target)
      : x_(AxisTable(field.axes[0], cubic, false)), y_(AxisTable(field.axes[1], cubic, false)),
        z_(D == 3 ? AxisTable(field.axes[D - 1], cubic, false) : AxisTable::single()),
        writer_(target, field.voxelCount(), D), pointCount_(field.pointCount()),
        points_(coefficients, coefficients + D * pointCount_), zeros_(x_.voxels)
  {
  }

  void fill(Context& context, void (*computeTile)(const CubicTile&)) const
  {
    forEachChunk(context, z_.runs.size() * y_.runs.size(), [&](std::size_t chunk) {
      const AxisRun &runY = y_.runs[chunk % y_.runs.size()], &runZ = z_.runs[chunk / y_.runs.size()];
      for (const AxisRun& runX : x_.runs) {
        if (!wanted(runX, runY, runZ))
          continue;
        if (runX.inside() && runY.inside() && runZ.inside())
          fillTile(runX, runY, runZ, computeTile);
        else
          forEachRow(runY, runZ, [&](int y, int z) {
            const float* rows[D];
            std::fill_n(rows, D, zeros_.data());
            writer_.write(voxelAt(runX.firstVoxel, y, z), runX.voxels, rows);
          });
      }
    });
  }

private:
  std::size_t voxelAt(int x, int y, int z) const
  {
    return (static_cast<std::size_t>(z) * y_.voxels + y) * x_.voxels + x;
  }

  template <class Body>
  static void forEachRow(const AxisRun& runY, const AxisRun& runZ, Body&& body)
  {
    for (int z = runZ.firstVoxel; z < runZ.firstVoxel + runZ.voxels; ++z)
      for (int y = runY.firstVoxel; y < runY.firstVoxel + runY.voxels; ++y)
        body(y, z);
  }

  bool wanted(const AxisRun& runX, const AxisRun& runY, const AxisRun& runZ) const
  {
    if (!writer_.masked())
      return true;
    bool any = false;
    forEachRow(runY, runZ, [&](int y, int z) {
      any = any || writer_.wants(voxelAt(runX.firstVoxel, y, z), runX.voxels);
    });
    return any;
  }

  void fillTile(const AxisRun& runX, const AxisRun& runY, const AxisRun& runZ,
                void (*computeTile)(const CubicTile&)) const
  {
    CubicTile tile{&x_,
                   &y_,
                   &z_,
                   runX,
                   runY,
                   runZ,
                   nullptr,
                   static_cast<std::size_t>(x_.points),
                   static_cast<std::size_t>(x_.points) * y_.points,
                   nullptr,
                   0,
                   0};
    const std::size_t firstPoint = runZ.start * tile.pointSlice + runY.start * tile.pointRow + runX.start;
    const int row = tile.vectors() * CubicTile::vector;
    // A row may write values behind the tile's end. The next tile of the row overwrites them.
    const bool straightToTarget = writer_.planar() && !writer_.masked() && runX.firstVoxel + row <= x_.voxels;
    tile.valueRow = static_cast<std::size_t>(straightToTarget ? x_.voxels : row);
    tile.valueSlice = tile.valueRow * (straightToTarget ? y_.voxels : runY.voxels);
    const std::size_t valueCount = static_cast<std::size_t>(row) * runY.voxels * runZ.voxels;
    thread_local std::vector<float> scratch;
    scratch.resize(std::max(scratch.size(), D * valueCount));
    const float* rows[D];
    for (int c = 0; c < D; ++c) {
      tile.points = points_.data() + c * pointCount_ + firstPoint;
      tile.values = straightToTarget
                        ? writer_.planarRow(c, voxelAt(runX.firstVoxel, runY.firstVoxel, runZ.firstVoxel))
                        : scratch.data() + c * valueCount;
      rows[c] = tile.values;
      computeTile(tile);
    }
    if (!straightToTarget)
      forEachRow(runY, runZ, [&](int y, int z) {
        writer_.write(voxelAt(runX.firstVoxel, y, z), runX.voxels, rows);
        for (int c = 0; c < D; ++c)
          rows[c] += row;
      });
  }

  LinearAxis x_, y_, z_;
  FieldWriter writer_;
  std::size_t pointCount_;
  std::vector<float> points_;
  std::vector<float> zeros_;
};

}

LinearAxis::LinearAxis(const AxisTable& table)
    : voxels(table.voxels), points(table.points), runs(table.runs), low(table.stride), high(table.stride),
      between(table.stride)
{
  if (table.taps <= cubic)
    return; // the missing axis of a plane needs no fractions
  for (int i = 0; i < voxels; ++i) {
    if (table.starts[i] == AxisRun::noSupport)
      continue;
    const auto weight = [&](int k) { return table.weights[k * table.stride + i]; };
    low[i] = static_cast<float>(weight(1) / (weight(0) + weight(1)));
    high[i] = static_cast<float>(weight(3) / (weight(2) + weight(3)));
    between[i] = static_cast<float>(weight(2) + weight(3));
  }
}

template <int D>
void fillByCubicTiles(Context& context, const AlignedField<D>& field, const double* coefficients,
                      const FieldTarget& target, void (*computeTile)(const CubicTile&))
{
  TiledField<D>(field, coefficients, target).fill(context, computeTile);
}

TESSERA_INSTANTIATE_FUNCTIONS(fillByCubicTiles<D>);

}
