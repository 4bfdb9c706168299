#include "Components/FieldInterpolators/Shared/SeparableOnCpu.h"

#include "Components/FieldInterpolators/Shared/SeparableRows.h"
#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace tessera {
namespace {

constexpr int largestTaps = 4;
constexpr int slicesPerBlock = 128;
// Bytes of the planes of a block, which stay in the second-level cache.
constexpr std::size_t planeBytes = std::size_t(640) << 10;
constexpr std::size_t piece = 1024;   // voxels of a slice that are handled at a time
constexpr std::size_t maskBrick = 64; // consecutive voxels of a slice that share a decision about the mask

enum class Wanted { displacements, jacobians, determinants };

/// The data that all blocks share. A field in 2D has a single row (y) in each of its slices (z).
struct Lattice {
  AxisTable x, y, z;
  int taps, tapsY;
  int kinds; // planes a component: 1 for displacements, D for derivatives (see DerivativeSources)
  const double* coefficients;
  FieldWriter writer;

  const double* line(int component, int y0, int z0) const
  {
    return coefficients + ((static_cast<std::size_t>(component) * z.points + z0) * y.points + y0) * x.points;
  }
};

/// A block of voxels: rows [firstRow, lastRow) of slices [firstSlice, lastSlice).
struct Block {
  int firstRow, lastRow, firstSlice, lastSlice;
  int firstComponent, components; // the components of the coefficients that it computes

  std::size_t voxels(const Lattice& lattice) const
  {
    return static_cast<std::size_t>(lastRow - firstRow) * lattice.x.voxels;
  }
  std::size_t firstVoxel(const Lattice& lattice, int slice) const
  {
    return (static_cast<std::size_t>(slice) * lattice.y.voxels + firstRow) * lattice.x.voxels;
  }
};

/// The finished planes of a block, which are contracted along x and y. There is one for each of the last
/// order + 1 slices of control points that were needed. Their voxels lie as in the target, without gaps
/// between rows.
class RollingPlanes {
public:
  RollingPlanes(const Lattice& lattice, const Block& block, std::vector<double>& scratch)
      : lattice_(lattice), block_(block), lineStride_(roundedUp(lattice.x.voxels + rowVector)),
        planeStride_(roundedUp(block.voxels(lattice) + rowVector))
  {
    held_.fill(-1);
    const std::size_t lineValues = static_cast<std::size_t>(lattice.tapsY) * 2 * lineStride_;
    const std::size_t planes = static_cast<std::size_t>(lattice.taps) * block.components * lattice.kinds;
    scratch.resize(std::max(scratch.size(), lineValues + planes * planeStride_ + 2 * rowVector));
    const std::size_t behind = reinterpret_cast<std::uintptr_t>(scratch.data()) / sizeof(double) % rowVector;
    lines_ = scratch.data() + (rowVector - behind) % rowVector;
    planes_ = lines_ + lineValues;
  }

  /// Finishes the planes of the slices of control points start .. start + order.
  void require(int start)
  {
    for (int slice = start; slice < start + lattice_.taps; ++slice)
      if (held_[slice % lattice_.taps] != slice)
        finish(slice);
  }

  double* plane(int slice, int component, int kind) const
  {
    const std::size_t slot = static_cast<std::size_t>(slice % lattice_.taps);
    const std::size_t componentOfBlock = static_cast<std::size_t>(component - block_.firstComponent);
    return planes_ + ((slot * block_.components + componentOfBlock) * lattice_.kinds + kind) * planeStride_;
  }

private:
  static std::size_t roundedUp(std::size_t values)
  {
    return (values + rowVector - 1) / rowVector * rowVector;
  }

  double* line(int y0, int kind) const { return lines_ + (y0 % lattice_.tapsY * 2 + kind) * lineStride_; }

  void finish(int slice)
  {
    for (int c = block_.firstComponent; c < block_.firstComponent + block_.components; ++c) {
      std::array<int, largestTaps> lineHeld;
      lineHeld.fill(-1);
      // A row may write values behind its end, where the next one begins.
      for (int y = block_.firstRow; y < block_.lastRow; ++y) {
        const int start = lattice_.y.starts[y];
        for (int y0 = start; y0 < start + lattice_.tapsY && start != AxisRun::noSupport; ++y0)
          if (lineHeld[y0 % lattice_.tapsY] != y0) {
            finishLines(slice, c, y0);
            lineHeld[y0 % lattice_.tapsY] = y0;
          }
        for (int kind = 0; kind < lattice_.kinds; ++kind)
          finishRow(y, start, kind,
                    plane(slice, c, kind)
                        + static_cast<std::size_t>(y - block_.firstRow) * lattice_.x.voxels);
      }
    }
    held_[slice % lattice_.taps] = slice;
  }

  void finishLines(int slice, int component, int y0)
  {
    const double* points = lattice_.line(component, y0, slice);
    contractLine(lattice_.x, lattice_.taps, lattice_.x.weights.data(), points, line(y0, 0));
    if (lattice_.kinds > 1)
      contractLine(lattice_.x, lattice_.taps, lattice_.x.derivatives.data(), points, line(y0, 1));
  }

  void finishRow(int y, int start, int kind, double* row)
  {
    if (start == AxisRun::noSupport) {
      std::fill_n(row, lattice_.x.voxels, 0.0);
      return;
    }
    const AxisTable& axis = lattice_.y;
    const double* sources[largestTaps];
    double weights[largestTaps];
    for (int k = 0; k < lattice_.tapsY; ++k) {
      sources[k] = line(start + k, kind == 1 ? 1 : 0);
      weights[k] = (kind == 2 ? axis.derivatives : axis.weights)[k * axis.stride + y];
    }
    contractRows(lattice_.tapsY, sources, weights, lattice_.x.voxels, row);
  }

  const Lattice& lattice_;
  const Block& block_;
  std::size_t lineStride_, planeStride_;
  std::array<int, largestTaps> held_;
  double *lines_, *planes_;
};

/// The last contraction, from pieces of a slice to single precision, and the writing to the target.
template <int D, Wanted wanted>
class PieceOutput {
public:
  static constexpr int components = wanted == Wanted::displacements ? D
                                    : wanted == Wanted::jacobians   ? D * D
                                                                    : 1;
  static constexpr int kinds = wanted == Wanted::displacements ? 1 : D;

  PieceOutput(const Lattice& lattice, const Matrix<D>& indexFromOffset, const Block& block,
              const RollingPlanes& planes)
      : lattice_(lattice), indexFromOffset_(indexFromOffset), block_(block), planes_(planes)
  {
    for (int c = 0; c < components; ++c)
      rows_[c] = values_[c];
  }

  /// Writes voxels [first, last) of the block in the slices [firstSlice, lastSlice), which need the same
  /// planes.
  void write(int firstSlice, int lastSlice, std::size_t first, std::size_t last)
  {
    for (int z = firstSlice; z < lastSlice; ++z)
      forEachPart(z, first, last, [&](std::size_t firstVoxel, std::size_t from, std::size_t count) {
        if constexpr (wanted == Wanted::displacements) {
          for (int c = block_.firstComponent; c < block_.firstComponent + block_.components; ++c)
            contract(z, c, from, count);
          if (block_.components == 1)
            return lattice_.writer.writeComponent(block_.firstComponent, firstVoxel, count,
                                                  rows_[block_.firstComponent]);
        } else {
          contractDerivatives(z, from, count);
        }
        lattice_.writer.write(firstVoxel, count, rows_);
      });
  }

private:
  /// Calls body(voxel of the target, voxel of the block, count) for the parts that must be computed.
  template <class Body>
  void forEachPart(int z, std::size_t first, std::size_t last, Body&& body)
  {
    const std::size_t voxel = block_.firstVoxel(lattice_, z) + first;
    lattice_.writer.forEachPart(voxel, last - first, maskBrick, [&](std::size_t from, std::size_t count) {
      body(voxel + from, first + from, count);
    });
  }

  /// Computes one component of the displacements.
  void contract(int z, int component, std::size_t first, std::size_t count)
  {
    const int start = lattice_.z.starts[z];
    if (start == AxisRun::noSupport) {
      std::fill_n(rows_[component], count, 0.0f);
      return;
    }
    const double* sources[largestTaps];
    double weights[largestTaps];
    for (int k = 0; k < lattice_.taps; ++k) {
      weights[k] = lattice_.z.weights[k * lattice_.z.stride + z];
      sources[k] = planes_.plane(start + k, component, 0) + first;
    }
    contractRowsToSingle(lattice_.taps, sources, weights, count, rows_[component]);
  }

  void contractDerivatives(int z, std::size_t first, std::size_t count)
  {
    const int start = lattice_.z.starts[z];
    if (start == AxisRun::noSupport) {
      for (int c = 0; c < components; ++c)
        std::fill_n(rows_[c], count, c % (D + 1) == 0 ? 1.0f : 0.0f);
      return;
    }
    const double* sources[D * kinds * largestTaps];
    double weights[largestTaps], derivatives[largestTaps];
    for (int k = 0; k < lattice_.taps; ++k) {
      weights[k] = lattice_.z.weights[k * lattice_.z.stride + z];
      derivatives[k] = lattice_.z.derivatives[k * lattice_.z.stride + z];
      for (int plane = 0; plane < D * kinds; ++plane)
        sources[plane * lattice_.taps + k] = planes_.plane(start + k, plane / kinds, plane % kinds) + first;
    }
    const DerivativeSources<D> from{lattice_.taps, sources, weights, derivatives, indexFromOffset_};
    if constexpr (wanted == Wanted::jacobians)
      jacobianRows<D>(from, count, rows_);
    else
      determinantRow<D>(from, count, rows_[0]);
  }

  const Lattice& lattice_;
  const Matrix<D>& indexFromOffset_;
  const Block& block_;
  const RollingPlanes& planes_;
  alignas(64) float values_[components][piece + 2 * rowVector + 16];
  float* rows_[components];
};

bool wantsAny(const Lattice& lattice, const Block& block, int firstSlice, int lastSlice)
{
  for (int z = firstSlice; z < lastSlice; ++z)
    if (lattice.writer.wants(block.firstVoxel(lattice, z), block.voxels(lattice)))
      return true;
  return false;
}

template <int D, Wanted wanted>
void computeBlock(const Lattice& lattice, const Matrix<D>& indexFromOffset, const Block& block)
{
  thread_local std::vector<double> planeScratch;
  RollingPlanes planes(lattice, block, planeScratch);
  PieceOutput<D, wanted> output(lattice, indexFromOffset, block, planes);
  const std::size_t voxels = block.voxels(lattice);
  for (const AxisRun& run : lattice.z.runs) {
    const int first = std::max(run.firstVoxel, block.firstSlice),
              last = std::min(run.firstVoxel + run.voxels, block.lastSlice);
    if (first >= last || !wantsAny(lattice, block, first, last))
      continue;
    if (run.inside())
      planes.require(run.start);
    // All slices of a run use a piece of the planes while it is in the first-level cache.
    for (std::size_t voxel = 0; voxel < voxels; voxel += piece)
      output.write(first, last, voxel, std::min(voxel + piece, voxels));
  }
}

/// The size of the parts of `whole` if they are as equal as possible and none is larger than `largest`.
int equalPart(int whole, int largest)
{
  const int parts = (whole + largest - 1) / largest;
  return (whole + parts - 1) / parts;
}

template <int D, Wanted wanted>
void compute(Context& context, const AlignedField<D>& field, const double* coefficients,
             const FieldTarget& target)
{
  if (field.voxelCount() == 0)
    return;
  using Output = PieceOutput<D, wanted>;
  const bool derivatives = Output::kinds > 1;
  const Lattice lattice{AxisTable(field.axes[0], field.order, derivatives),
                        D == 3 ? AxisTable(field.axes[1], field.order, derivatives) : AxisTable::single(),
                        AxisTable(field.axes[D - 1], field.order, derivatives),
                        field.order + 1,
                        D == 3 ? field.order + 1 : 1,
                        Output::kinds,
                        coefficients,
                        FieldWriter(target, field.voxelCount(), Output::components)};
  const int components = wanted == Wanted::displacements && lattice.writer.planar()
                             ? 1
                             : D; // a single component if that writes whole cache lines
  const std::size_t rowBytes =
      lattice.taps * components * Output::kinds * static_cast<std::size_t>(lattice.x.voxels) * sizeof(double);
  const int rows = equalPart(lattice.y.voxels,
                             static_cast<int>(std::clamp<std::size_t>(planeBytes / rowBytes, 1, 1 << 20)));
  const int slices = equalPart(lattice.z.voxels, slicesPerBlock);
  const int blocksY = (lattice.y.voxels + rows - 1) / rows,
            blocksZ = (lattice.z.voxels + slices - 1) / slices;
  forEachChunk(context, static_cast<std::size_t>(D / components) * blocksZ * blocksY, [&](std::size_t chunk) {
    const int c = static_cast<int>(chunk / (blocksZ * blocksY)) * components;
    const int z = static_cast<int>(chunk / blocksY % blocksZ) * slices,
              y = static_cast<int>(chunk % blocksY) * rows;
    const Block block{
        y, std::min(y + rows, lattice.y.voxels), z, std::min(z + slices, lattice.z.voxels), c, components};
    computeBlock<D, wanted>(lattice, field.indexFromOffset, block);
  });
}

}

template <int D>
void separableDisplacements(Context& context, const AlignedField<D>& field, const double* coefficients,
                            const FieldTarget& target)
{
  compute<D, Wanted::displacements>(context, field, coefficients, target);
}

template <int D>
void separableJacobians(Context& context, const AlignedField<D>& field, const double* coefficients,
                        const FieldTarget& target)
{
  compute<D, Wanted::jacobians>(context, field, coefficients, target);
}

template <int D>
void separableJacobianDeterminants(Context& context, const AlignedField<D>& field, const double* coefficients,
                                   const FieldTarget& target)
{
  compute<D, Wanted::determinants>(context, field, coefficients, target);
}

TESSERA_INSTANTIATE_FUNCTIONS(separableDisplacements<D>, separableJacobians<D>,
                              separableJacobianDeterminants<D>);

}
