#pragma once

#include "Core/Compute/HostDevice.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

#ifdef __CUDACC__
#define TESSERA_OF_A_LANE __device__ __forceinline__
#else
#define TESSERA_OF_A_LANE inline
#endif

// The value and gradient of ExactBendingEnergy, c^T Q c and 2 Q c with Q banded along each axis, by lines of
// control points: the steps of a lane between the shuffles of its warp, compiled by nvcc for the device and
// by g++ for tests. With the bands of three derivatives p = 0, 1, 2 along each axis (Z, Y, X; those of p = 2
// halved):
//
//   F_p = Z_p c                                           along the last axis
//   E_p = sum over q + r = p of Y_q F_r                   along the second axis
//   gradient = 4 * sum over q + r = 2 of X_q E_r          along the first axis
//   value = c . gradient / 2
//
// A warp has 32 columns of the first axis, one a lane, and two slices of the last axis; it marches along the
// second axis. For each row it reads the 8 slices around its own (once from memory; for the other warps of
// the block they are in the caches) and contracts them to F_p. It keeps F_p of the last 7 rows, from which
// E_p of one row follows. Along the first axis, sums go from lane to lane, and each lane adds its own part by
// the bands of its own column, so that the grid's faces need no special case. The outermost 3 columns of a
// tile belong to its neighbours too, which compute the outputs there.
namespace tessera::bending {

constexpr int reach = 3, neighbours = 7, derivatives = 3;
constexpr int lanes = 32, columnsOfTile = lanes - 2 * reach; // columns from one tile to the next
constexpr int slicesOfLane = 2, slicesRead = slicesOfLane + 2 * reach;
/// A block's warps, slices and threads.
constexpr int warps = 4, slices = slicesOfLane * warps, threads = lanes * warps;
constexpr int blocksAMultiprocessor = 2; // so many blocks fit by the registers of their lanes

/// Control points of an axis. Those from `firstWhole` to `lastWhole` have equal and symmetric bands.
struct Axis {
  int points, firstWhole, lastWhole;
};

/// The bands of all axes, those of two derivatives halved. F_p is in units of the middle of Z_p where Z_p is
/// whole, and E_p in units of that times the middle of Y_0. So the middles of Z_p and Y_0 are 1, and X_q
/// contains these units.
struct Bands {
  double z[derivatives][reach];           // bands of whole rows, from distance 1 on
  double y0[reach];                       // the same for Y_0
  double y1[2][reach + 1], y2[reach + 1]; // Y_1 for E_1 and for E_2, and Y_2, from distance 0 on
  /// Bands of every row: of Z [control point][p][slice that is read], aligned to 16 bytes; of Y [control
  /// point][Y_0, both Y_1, Y_2][neighbour].
  const double *rowsOfZ, *rowsOfY;
  const double* ofX; // [p][neighbour][tile][lane], 0 for neighbours outside of the tile
  static constexpr int perRowOfZ = derivatives * slicesRead, perRowOfY = 4 * neighbours;
};

/// How the work is cut. Blocks along the first axis of the launch's grid are segments of rows of groups of
/// slices; those along the other two axes are tiles and components. Groups with slices at the grid's faces,
/// whose bands are not whole, take longer and have more segments. In 2D the last axis has one control point.
struct Plan {
  Axis axes[3];
  Bands bands;
  int tiles, components;
  int groups, firstWholeGroup, behindWholeGroups; // groups of slices, a group for each block
  int segments, segmentsOfOthers; // segments of the second axis, in whole groups and in the others
  /// Distances from the lowest slice that is read to each of those read, at most to the grid's last one.
  unsigned sliceBytes[slicesRead];

  TESSERA_HOST_DEVICE int wholeGroups() const { return behindWholeGroups - firstWholeGroup; }
  TESSERA_HOST_DEVICE int otherGroups() const { return groups - wholeGroups(); }
  TESSERA_HOST_DEVICE int blocksInLine() const
  {
    return wholeGroups() * segments + otherGroups() * segmentsOfOthers;
  }
};

TESSERA_OF_A_LANE int least(int a, int b)
{
  return a < b ? a : b;
}
TESSERA_OF_A_LANE int largest(int a, int b)
{
  return a > b ? a : b;
}

/// A lane's part: column x (column `inTiles` if tiles are counted one behind the other) of slices z and z +
/// 1, in rows [start, stop).
struct Place {
  int tile, component, x, inTiles, start, stop, z;
  bool hasOutputs;

  TESSERA_OF_A_LANE Place(const Plan& plan, int block, int tileOfBlock, int componentOfBlock, int warp,
                          int lane)
      : tile(tileOfBlock), component(componentOfBlock), x(tile * columnsOfTile + lane),
        inTiles(tile * lanes + lane)
  {
    const int ofOthers = plan.otherGroups() * plan.segmentsOfOthers,
              segments = block < ofOthers ? plan.segmentsOfOthers : plan.segments;
    int segment, group;
    if (block < ofOthers) {
      segment = block / plan.otherGroups();
      group = block - segment * plan.otherGroups();
      group += group < plan.firstWholeGroup ? 0 : plan.wholeGroups();
    } else {
      segment = (block - ofOthers) / plan.wholeGroups();
      group = plan.firstWholeGroup + block - ofOthers - segment * plan.wholeGroups();
    }
    const int rows = plan.axes[1].points;
    start = rows * segment / segments;
    stop = rows * (segment + 1) / segments;
    z = (group * warps + warp) * slicesOfLane;
    const bool isTiles = (lane >= reach || tile == 0) && (lane < lanes - reach || tile == plan.tiles - 1);
    hasOutputs = isTiles && x < plan.axes[0].points;
  }
};

TESSERA_OF_A_LANE double loaded(const double* from)
{
#ifdef __CUDACC__
  return __ldg(from);
#else
  return *from;
#endif
}

/// Loads two numbers from an address that is a multiple of 16 bytes.
TESSERA_OF_A_LANE void loadTwo(const double* from, double (&to)[2])
{
#ifdef __CUDACC__
  const double2 both = __ldg(reinterpret_cast<const double2*>(from));
  to[0] = both.x;
  to[1] = both.y;
#else
  to[0] = from[0];
  to[1] = from[1];
#endif
}

/// Prefetches the rows of a warp's slices behind the first ones into the L2 cache; each tile prefetches a
/// part.
TESSERA_OF_A_LANE void askForRows([[maybe_unused]] const Plan& plan, [[maybe_unused]] const Place& place,
                                  [[maybe_unused]] const double* coefficients)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  const int nx = plan.axes[0].points, ny = plan.axes[1].points, nz = plan.axes[2].points;
  const int lane = place.inTiles - place.tile * lanes, z = place.z + lane;
  if (lane >= slicesOfLane || z >= nz)
    return;
  const int first = least(place.start + reach + 1, ny), behind = least(place.stop + reach, ny);
  const double* rows =
      coefficients + ((static_cast<std::size_t>(place.component) * nz + z) * ny + first) * nx;
  const auto partsBegin = [&](int part) {
    constexpr std::uint64_t granule = 16;
    const auto at = reinterpret_cast<std::uint64_t>(
        rows + static_cast<std::size_t>(behind - first) * nx * part / plan.tiles);
    return at / granule * granule;
  };
  const std::uint64_t begin = partsBegin(place.tile), end = partsBegin(place.tile + 1);
  if (end > begin)
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(begin),
                 "r"(static_cast<unsigned>(end - begin)));
#endif
}

TESSERA_OF_A_LANE bool whole(const Axis& axis, int first, int last)
{
  return first >= axis.firstWhole && last <= axis.lastWhole;
}

/// E_p of a lane's column in one row: [slice][derivatives].
using Row = double[slicesOfLane][derivatives];

/// Sums that go to the next lane (up) and to the lane before (down), one for each slice.
struct Passed {
  double up[slicesOfLane], down[slicesOfLane];
};

/// The work of one lane; the other columns of its tile belong to the other lanes of its warp.
///
/// For each row the caller calls contractAlongY, passFirst, goOn, passOn with 2 and then 1, and finish.
/// Between these calls, shuffles bring `up` from the lane before and `down` from the next lane. The first and
/// last lanes of a tile may receive any lane's numbers, because their bands are 0 there. `slot` is the number
/// of the row within the segment, modulo 7.
class Line {
public:
  TESSERA_OF_A_LANE Line(const Plan& plan, const Place& place, const double* coefficients, double* gradient)
      : plan_(plan), gradient_(gradient), y_(place.start), stop_(place.stop)
  {
    const int nx = plan.axes[0].points, ny = plan.axes[1].points, nz = plan.axes[2].points;
    const int z = least(place.z, nz - 1), lowest = largest(least(place.z - reach, nz - slicesRead), 0);
    zWhole_ = whole(plan.axes[2], place.z, place.z + slicesOfLane - 1);
    rowsOfZ_ =
        plan.bands.rowsOfZ + static_cast<std::size_t>(z / slicesOfLane * slicesOfLane) * Bands::perRowOfZ;
    ofSlice_ = static_cast<unsigned>(nx) * ny;
    const std::ptrdiff_t ofSlice = static_cast<std::ptrdiff_t>(nx) * ny,
                         column = static_cast<std::ptrdiff_t>(place.component) * nz * ofSlice
                                  + least(place.x, nx - 1),
                         own = column + z * ofSlice + static_cast<std::ptrdiff_t>(y_) * nx;
    const double* from = coefficients + column + lowest * ofSlice;
    from_ = coefficients + own;
    to_ = own;
    double first[neighbours][slicesRead];
    TESSERA_UNROLL
    for (int r = 0; r < neighbours; ++r)
      load(from + static_cast<std::ptrdiff_t>(least(largest(y_ - reach + r, 0), ny - 1)) * nx, first[r]);
    next_ = from + static_cast<std::ptrdiff_t>(least(y_ + reach + 1, ny - 1)) * nx;
    load(next_, row_);
    askForRows(plan, place, coefficients);
    TESSERA_UNROLL
    for (int p = 0; p < derivatives; ++p) {
      TESSERA_UNROLL
      for (int m = 0; m < neighbours; ++m)
        x_[p][m] = loaded(plan.bands.ofX + static_cast<std::size_t>(p * neighbours + m) * plan.tiles * lanes
                          + place.inTiles);
    }
    TESSERA_UNROLL
    for (int l = 0; l < slicesOfLane; ++l) {
      outputs_[l] = place.hasOutputs && place.z + l < nz;
      writes_[l] = outputs_[l] && gradient;
    }
    if (zWhole_) {
      TESSERA_UNROLL
      for (int r = 0; r < neighbours; ++r)
        contractByPairsAlongZ(first[r], r);
    } else {
      TESSERA_UNROLL
      for (int r = 0; r < neighbours; ++r)
        contractByRowAlongZ(first[r], r);
    }
  }

  /// Whether there are no rows of outputs left.
  TESSERA_OF_A_LANE bool isDone() const { return y_ == stop_; }

  TESSERA_OF_A_LANE void contractAlongY(int slot, Row& e)
  {
    TESSERA_UNROLL
    for (int l = 0; l < slicesOfLane; ++l)
      here_[l] = loaded(from_ + (outputs_[l] ? l * ofSlice_ : 0));
    if (whole(plan_.axes[1], y_, y_))
      contractByPairsAlongY(slot, e);
    else
      contractByRowAlongY(slot, e);
  }

  /// The lane's part of the outputs three columns to either side.
  TESSERA_OF_A_LANE Passed passFirst(const Row& e) const
  {
    Passed passed;
    TESSERA_UNROLL
    for (int l = 0; l < slicesOfLane; ++l) {
      passed.up[l] = added(reach, e[l]);
      passed.down[l] = added(-reach, e[l]);
    }
    return passed;
  }
  /// The parts received, which now are for the outputs `distance` columns away, plus the lane's own.
  TESSERA_OF_A_LANE Passed passOn(int distance, const Row& e, const Passed& received) const
  {
    Passed passed;
    TESSERA_UNROLL
    for (int l = 0; l < slicesOfLane; ++l) {
      passed.up[l] = added(distance, e[l], received.up[l]);
      passed.down[l] = added(-distance, e[l], received.down[l]);
    }
    return passed;
  }

  /// Goes on to the next row: contracts the row that was loaded before, and loads the one after it.
  TESSERA_OF_A_LANE void goOn(int slot)
  {
    if (zWhole_)
      contractByPairsAlongZ(row_, slot);
    else
      contractByRowAlongZ(row_, slot);
    next_ += y_ + reach + 2 < plan_.axes[1].points ? plan_.axes[0].points : 0;
    load(next_, row_);
  }

  /// Adds the outputs to the value and, unless there is none, writes the gradient.
  TESSERA_OF_A_LANE void finish(const Row& e, const Passed& received)
  {
    TESSERA_UNROLL
    for (int l = 0; l < slicesOfLane; ++l) {
      const double output = added(0, e[l], received.up[l]) + received.down[l];
      values_[l] = fma(here_[l], output, values_[l]);
      if (writes_[l])
        gradient_[to_ + l * ofSlice_] = output;
    }
    from_ += plan_.axes[0].points;
    to_ += plan_.axes[0].points;
    ++y_;
  }

  /// The lane's part of the energy.
  TESSERA_OF_A_LANE double value() const
  {
    double sum = 0;
    TESSERA_UNROLL
    for (int l = 0; l < slicesOfLane; ++l)
      sum += outputs_[l] ? values_[l] : 0;
    return sum / 2;
  }

private:
  TESSERA_OF_A_LANE void load(const double* from, double (&to)[slicesRead]) const
  {
    TESSERA_UNROLL
    for (int m = 0; m < slicesRead; ++m)
      to[m] =
          loaded(reinterpret_cast<const double*>(reinterpret_cast<const char*>(from) + plan_.sliceBytes[m]));
  }

  /// Contracts a row along the last axis by bands that are whole, hence symmetric: pairs at equal distance
  /// share a weight.
  TESSERA_OF_A_LANE void contractByPairsAlongZ(const double (&c)[slicesRead], int slot)
  {
    TESSERA_UNROLL
    for (int l = 0; l < slicesOfLane; ++l) {
      const double s1 = c[l + 2] + c[l + 4], s2 = c[l + 1] + c[l + 5], s3 = c[l] + c[l + 6];
      TESSERA_UNROLL
      for (int p = 0; p < derivatives; ++p) {
        const double* w = plan_.bands.z[p];
        f_[l][p][slot] = fma(w[2], s3, fma(w[1], s2, fma(w[0], s1, c[l + 3])));
      }
    }
  }
  TESSERA_OF_A_LANE void contractByRowAlongZ(const double (&c)[slicesRead], int slot)
  {
    TESSERA_UNROLL
    for (int l = 0; l < slicesOfLane; ++l) {
      TESSERA_UNROLL
      for (int p = 0; p < derivatives; ++p) {
        const double* band = rowsOfZ_ + l * Bands::perRowOfZ + p * slicesRead;
        double sum = 0;
        TESSERA_UNROLL
        for (int m = 0; m < slicesRead; m += 2) {
          double w[2];
          loadTwo(band + m, w);
          sum = fma(w[1], c[m + 1], fma(w[0], c[m], sum));
        }
        f_[l][p][slot] = sum;
      }
    }
  }

  /// The same along the second axis; `slot` holds the row's first neighbour.
  TESSERA_OF_A_LANE void contractByPairsAlongY(int slot, Row& e) const
  {
    const Bands& bands = plan_.bands;
    TESSERA_UNROLL
    for (int l = 0; l < slicesOfLane; ++l) {
      double s[derivatives][reach + 1];
      TESSERA_UNROLL
      for (int p = 0; p < derivatives; ++p) {
        const double(&f)[neighbours] = f_[l][p];
        s[p][0] = f[(slot + reach) % neighbours];
        TESSERA_UNROLL
        for (int m = 1; m <= reach; ++m)
          s[p][m] = f[(slot + reach - m) % neighbours] + f[(slot + reach + m) % neighbours];
      }
      TESSERA_UNROLL
      for (int p = 0; p < derivatives; ++p)
        e[l][p] = fma(bands.y0[2], s[p][3], fma(bands.y0[1], s[p][2], fma(bands.y0[0], s[p][1], s[p][0])));
      TESSERA_UNROLL
      for (int m = 0; m <= reach; ++m) {
        e[l][1] = fma(bands.y1[0][m], s[0][m], e[l][1]);
        e[l][2] = fma(bands.y2[m], s[0][m], fma(bands.y1[1][m], s[1][m], e[l][2]));
      }
    }
  }
  TESSERA_OF_A_LANE void contractByRowAlongY(int slot, Row& e) const
  {
    const double* band = plan_.bands.rowsOfY + static_cast<std::size_t>(y_) * Bands::perRowOfY;
    TESSERA_UNROLL
    for (int l = 0; l < slicesOfLane; ++l)
      e[l][0] = e[l][1] = e[l][2] = 0;
    TESSERA_UNROLL
    for (int m = 0; m < neighbours; ++m, ++band) {
      const double y0 = loaded(band), y1[2] = {loaded(band + neighbours), loaded(band + 2 * neighbours)},
                   y2 = loaded(band + 3 * neighbours);
      TESSERA_UNROLL
      for (int l = 0; l < slicesOfLane; ++l) {
        const double f[derivatives] = {f_[l][0][(slot + m) % neighbours], f_[l][1][(slot + m) % neighbours],
                                       f_[l][2][(slot + m) % neighbours]};
        e[l][0] = fma(y0, f[0], e[l][0]);
        e[l][1] = fma(y1[0], f[0], fma(y0, f[1], e[l][1]));
        e[l][2] = fma(y2, f[0], fma(y1[1], f[1], fma(y0, f[2], e[l][2])));
      }
    }
  }

  /// `sum`, plus what the lane adds to the output m columns after its own.
  TESSERA_OF_A_LANE double added(int m, const double (&e)[derivatives], double sum) const
  {
    return fma(x_[0][reach + m], e[2], fma(x_[1][reach + m], e[1], fma(x_[2][reach + m], e[0], sum)));
  }
  TESSERA_OF_A_LANE double added(int m, const double (&e)[derivatives]) const
  {
    return fma(x_[0][reach + m], e[2], fma(x_[1][reach + m], e[1], x_[2][reach + m] * e[0]));
  }

  const Plan& plan_;
  double* gradient_;      // may be null
  const double* from_;    // the row's coefficients in the first slice
  std::ptrdiff_t to_;     // the place of their gradient
  const double* next_;    // the row that is loaded next, in the lowest slice that is read
  const double* rowsOfZ_; // bands of the lane's slices
  unsigned ofSlice_;      // distance to the next slice
  int y_, stop_;          // the row, and the end of rows
  bool zWhole_;           // whether the bands of both slices are whole
  /// Whether the slices have outputs in this column, and whether these are written.
  bool outputs_[slicesOfLane], writes_[slicesOfLane];
  double x_[derivatives][neighbours];               // the bands of the lane's column
  double row_[slicesRead];                          // the row that was loaded
  double f_[slicesOfLane][derivatives][neighbours]; // F_p of seven rows
  double here_[slicesOfLane];                       // coefficients of the row's outputs
  double values_[slicesOfLane] = {};
};

}
