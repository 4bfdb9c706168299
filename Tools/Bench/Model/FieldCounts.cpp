#include "Tools/Bench/Model/KernelCounts.h"

#include "Components/FieldInterpolators/Shared/SeparableOnCuda.h"
#include "Core/Registration/Terms/WarpLatticeLaunch.h"

#include <algorithm>
#include <cmath>

namespace tessera {

/// First the block's warps share the sums along z: 160 instructions for a warp's place, 112 for 32 sums, and
/// 83 for the weights of 32 rows. After the barrier a thread takes 114 for its own weights and its first
/// lines of control points, 28 for each line more, and 25 for a row. Lanes of a warp read a float4 of shared
/// memory for each control point, of which 32 / spacing are different.
KernelLaunch fieldCounts(const AlignedField<3>& field)
{
  constexpr double warpBytes = 128, axes = 3;
  const SeparableLaunch shape = separableDisplacementsLaunch(field);
  const auto [gridX, gridY, gridZ] = shape.grid;
  const int warps = shape.warps * shape.depth;
  const double ofZ = std::ceil(1.0 * shape.lines / warps) * std::ceil(shape.width / 32.0),
               ofRows = std::min(1.0, std::ceil(shape.rows / 32.0) / warps),
               rows = 1.0 * field.axes[1].voxels / gridY, lines = rows * field.axes[1].step;
  // A float4 of shared memory is read for eight lanes at a time, and some of these meet in a bank.
  constexpr double wavefronts = 4.5;
  KernelCost sums;
  // Most blocks need fewer lines than the shape has room for; the mean over the warps.
  const double linesOfBlock = std::min(1.0 * shape.lines, (shape.rows - 1) * field.axes[1].step + 4),
               ofEach = linesOfBlock / warps * std::ceil(shape.width / 32.0);
  sums.issueSlots = 169 + 112 * ofEach + 83 * ofRows;
  sums.fp32 = 10 + 65 * ofEach;
  sums.fp64 = 47 + 30 * ofRows;
  sums.special = 12 + 10 * ofRows;
  sums.integer = 44 + 22 * ofEach + 23 * ofRows;
  sums.globalInstructions = 15 * ofEach;
  sums.l1Wavefronts = 15 * ofEach;
  sums.sharedInstructions = 2 * ofEach + ofRows;
  sums.sharedWavefronts = 8 * ofEach + ofRows;
  sums.l2Sectors = 15 * ofEach * std::min(4.5, shape.width / 8.0 + 0.3);
  sums.dramReadBytes =
      axes * sizeof(float) * static_cast<double>(field.pointCount()) / (1.0 * gridX * gridY * gridZ * warps);
  sums.barriers = 1;
  sums.chain = {{LatencyClass::cycle, 458 + 228 * ofZ + 256 * ofRows},
                {LatencyClass::special, 9 + 7 * ofRows},
                {LatencyClass::constant, 6},
                {LatencyClass::l2, 15 * ofZ, 15},
                {LatencyClass::barrier, 1}};
  KernelCost begin;
  begin.issueSlots = 114;
  begin.fp32 = 57;
  begin.special = 4;
  begin.integer = 23;
  begin.sharedInstructions = 16;
  begin.sharedWavefronts = 16 * wavefronts;
  begin.chain = {{LatencyClass::cycle, 130}, {LatencyClass::shared, 1}, {LatencyClass::constant, 2}};
  KernelCost line{.issueSlots = 28,
                  .fp32 = 13,
                  .integer = 4,
                  .sharedInstructions = 5,
                  .sharedWavefronts = 4 * wavefronts + 1,
                  .chain = {{LatencyClass::cycle, 72}, {LatencyClass::shared, 1}}};
  KernelCost row{.issueSlots = 25, .fp32 = 16, .integer = 4};
  row.globalInstructions = row.l1Wavefronts = axes;
  row.sharedInstructions = 1;
  row.sharedWavefronts = 1.5;
  row.l2Sectors = 4 * axes;
  row.dramWrittenBytes = axes * warpBytes;
  row.chain = {{LatencyClass::cycle, 52}, {LatencyClass::shared, 1}};
  // Warps beyond the ends of x and z have no rows.
  const double used = std::ceil(field.axes[0].voxels / 32.0) * field.axes[2].voxels
                      / (1.0 * gridX * shape.warps * gridZ * shape.depth);
  KernelCost marching;
  marching.add(used, begin).add(used * lines, line).add(used * rows, row);
  return {"field", {sums, marching}, shape.shape};
}

/// 110 instructions begin a thread, and 204 handle each of its rows: 70 read the displacement and find the
/// cell, 45 the addresses of its corners, 33 interpolate, and 49 turn and store the gradient. Lanes read 33
/// voxels of each of four rows of the image, two of which the row before has left in the L1 cache.
KernelLaunch warpCounts(const std::array<int, 3>& positions)
{
  constexpr double rowSectors = 5, warpBytes = 128;
  KernelCost before{.issueSlots = 110, .fp32 = 57, .special = 3, .integer = 21};
  before.globalInstructions = before.l1Wavefronts = 3;
  before.l2Sectors = 2 * rowSectors;
  before.chain = {{LatencyClass::cycle, 160}, {LatencyClass::special, 3}, {LatencyClass::constant, 2}};
  KernelCost row{.issueSlots = 204, .fp32 = 94, .integer = 54, .globalInstructions = 15};
  row.l1Wavefronts = 3 + 8 * 2 + 4; // corners lie in two lines of the cache
  row.l2Sectors = 3 * 4 + 2 * rowSectors + 4 * 4;
  row.dramReadBytes = 4 * warpBytes;
  row.dramWrittenBytes = 4 * warpBytes;
  // The next row's displacement is on its way while a row is handled, and takes longer than the corners.
  row.chain = {{LatencyClass::cycle, 188}, {LatencyClass::constant, 2}, {LatencyClass::dram, 3, 3}};
  // At the end of a row half of the warps have lanes at the border, which take another path beside the
  // others.
  KernelCost border{.issueSlots = 230, .fp32 = 95, .integer = 80, .globalInstructions = 8};
  row.add(0.5 / std::ceil(positions[0] / 32.0), border);
  const LaunchShape shape = warpLatticeShape(positions);
  constexpr int width = WarpBlocks::width, rowsAThread = WarpBlocks::rowsAThread;
  const double columns = std::ceil(1.0 * positions[0] / width), borderCycles = 990;
  // A block waits for its slowest warp: one at the border, in half of the blocks at the ends of rows.
  row.chain.push_back({LatencyClass::cycle, 0.5 * std::min(1.0, 2 / columns) * borderCycles});
  const double warps = shape.blocks * shape.warpsABlock();
  KernelCost cost;
  // Warps beyond the end of a row leave early.
  const double rowsOfWarps = std::ceil(positions[0] / 32.0) * positions[1] * positions[2];
  cost.add(rowsOfWarps / rowsAThread / warps, before);
  cost.add(rowsOfWarps / warps, row);
  return {"warp", {cost}, shape};
}

}
