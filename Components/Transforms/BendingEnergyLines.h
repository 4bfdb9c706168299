#pragma once

#include "Core/Compute/HostDevice.h"

#include <cmath>
#include <cstddef>

#ifdef __CUDACC__
#define TESSERA_OF_A_LANE __device__ __forceinline__
#else
#define TESSERA_OF_A_LANE inline
#endif

// ExactBendingEnergy by lines: what a lane does between the shuffles of its warp, for nvcc on the device and for g++ in tests.
//
// A warp owns 64 columns of the first axis, two a lane, in one layer of the last axis, and goes along the second axis: it reads a
// row of the 7 layers around its own (once from memory; as warps of a block have neighbouring layers, the rest is in the caches),
// contracts it along the last axis; along the first one with what its neighbours have, by bands of its own, so that the grid's
// faces need nothing else; and adds it to the 7 rows of outputs that it is part of. Two warps begin in the middle of a line of rows
// and go apart: what their first three rows add to each other's is exchanged, and no row is read twice.
namespace tessera::bending {

constexpr int reach = 3, neighbours = 7, perPoint = 3 * neighbours;
constexpr int lanes = 32, columnsOfWarp = 2 * lanes;
constexpr int warps = 4, layers = warps / 2, threads = lanes * warps; // of a block
constexpr int blocksAMultiprocessor = 2;                              // as many as the registers of its lanes leave room for

/// The bands of an axis, those of two derivatives halved and those of the last axis times 4. Then the contraction is the gradient,
/// without factors between the axes: it is 4 times the sum over p + q + r = 2 of G_p / p! G_q / q! G_r / r!.
struct Axis {
  int points, firstWhole, lastWhole;
  double whole[3][reach + 1]; // of control points far from the box's faces: equal and symmetric
  const double* rows;         // [control point][p][neighbour]
};

/// In 2D the last axis is one control point.
struct Plan {
  Axis axes[3];
  const double* bandsOfX; // of the first axis: [p][neighbour][column], 0 behind its end
  int pitchOfX;
  int tiles, width;     // parts of the first axis; outputs of one, even
  int segments, length; // of the second axis; rows of one
  int groups;           // of layers: those of a block
  int components;

  TESSERA_OF_A_LANE std::size_t pointCount() const
  {
    return static_cast<std::size_t>(axes[0].points) * axes[1].points * axes[2].points;
  }
};

/// A lane's part: columns x and x + 1, of which those from `first` to before `last` are outputs; rows from `start` to before
/// `stop`, `step` apart. Layers behind the grid are its last one, without outputs.
struct Place {
  int x, first, last, start, stop, step, z, component;

  TESSERA_OF_A_LANE Place(const Plan& plan, int block, int warp, int lane)
  {
    constexpr int before = reach + 1; // even, as width is: columns of a lane stay together
    const int nx = plan.axes[0].points, ny = plan.axes[1].points, nz = plan.axes[2].points;
    z = block % plan.groups * layers + warp / 2;
    block /= plan.groups;
    first = block % plan.tiles * plan.width;
    block /= plan.tiles;
    const int begin = block % plan.segments * plan.length, end = begin + plan.length < ny ? begin + plan.length : ny,
              middle = (begin + end) / 2;
    component = block / plan.segments;
    x = (first > before ? first - before : 0) + 2 * lane;
    last = z >= nz ? first : first + plan.width < nx ? first + plan.width : nx;
    z = z < nz ? z : nz - 1;
    step = warp % 2 == 0 ? -1 : 1;
    start = step < 0 ? middle - 1 : middle;
    stop = step < 0 ? begin - 1 : end;
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

TESSERA_OF_A_LANE bool whole(const Axis& axis, int point)
{
  return point >= axis.firstWhole && point <= axis.lastWhole;
}

/// Two columns' numbers side by side in memory: at once where they are `Paired`, at multiples of 16 bytes.
template <bool Paired>
struct Columns {
  static TESSERA_OF_A_LANE void load(const double* from, int second, double (&to)[2])
  {
#ifdef __CUDACC__
    if constexpr (Paired) {
      const double2 both = __ldg(reinterpret_cast<const double2*>(from));
      to[0] = both.x;
      to[1] = both.y;
      return;
    }
#endif
    to[0] = loaded(from);
    to[1] = loaded(from + second);
  }
  static TESSERA_OF_A_LANE void store(const double (&values)[2], bool first, bool second, double* to)
  {
#ifdef __CUDACC__
    if constexpr (Paired) {
      if (first)
        *reinterpret_cast<double2*>(to) = make_double2(values[0], values[1]);
      return;
    }
#endif
    if (first)
      to[0] = values[0];
    if (second)
      to[1] = values[1];
  }
};

/// A lane's numbers of a row contracted along the last axis: [derivatives][column].
using AlongZ = double[3][2];

/// What a lane does. The tile's other columns are the warp's other lanes.
template <bool Paired>
class Line {
public:
  TESSERA_OF_A_LANE Line(const Plan& plan, const Place& place, const double* coefficients, double* gradient)
      : plan_(plan), place_(place), coefficients_(coefficients), gradient_(gradient), zWhole_(whole(plan.axes[2], place.z)),
        y_(place.start)
  {
    const int nx = plan.axes[0].points, ny = plan.axes[1].points, nz = plan.axes[2].points;
    const std::ptrdiff_t ofLayer = static_cast<std::ptrdiff_t>(nx) * ny;
    const int lastLoaded = Paired ? nx - 2 : nx - 1; // for columns behind the grid, whose bands are 0
    const int column = place.x < lastLoaded ? place.x : lastLoaded;
    second_ = place.x + 1 < nx ? 1 : 0;
    own_ = place.component * static_cast<std::ptrdiff_t>(plan.pointCount()) + place.z * ofLayer
           + static_cast<std::ptrdiff_t>(place.start) * nx + column;
    next_ = coefficients + own_;
    ofRow_ = place.step * static_cast<std::ptrdiff_t>(nx);
    TESSERA_UNROLL
    for (int m = 0; m < neighbours; ++m) {
      const int at = place.z - reach + m, held = at < 0 ? 0 : at < nz ? at : nz - 1;
      layers_[m] = (held - place.z) * ofLayer;
    }
    load();
    const int low = place.stop - reach > -1 ? place.stop - reach : -1, high = place.stop + reach < ny ? place.stop + reach : ny;
    rows_ = place.step < 0 ? place.start - low : high - place.start;
    TESSERA_UNROLL
    for (int c = 0; c < 2; ++c)
      outputs_[c] = place.x + c >= place.first && place.x + c < place.last;
    TESSERA_UNROLL
    for (int p = 0; p < 3; ++p)
      TESSERA_UNROLL
    for (int m = 0; m < neighbours; ++m) {
      const double* bands = plan.bandsOfX + static_cast<std::size_t>(p * neighbours + m) * plan.pitchOfX + place.x;
      Columns<true>::load(bands, 1, x_[p][m]);
    }
  }

  /// As long as the grid has rows for the warp: contractAlongZ, add, finish. Then, until there are no outputs left: next, finish.
  TESSERA_OF_A_LANE bool hasRows() const { return rows_ > 0; }
  TESSERA_OF_A_LANE bool hasOutputs() const { return y_ != place_.stop + reach * place_.step; }
  /// The first outputs that are finished are the partner's: what the line adds to them is for it. The next ones lack the partner's.
  TESSERA_OF_A_LANE bool isPartners() const { return done_ < reach; }
  TESSERA_OF_A_LANE bool lacksPartners() const { return done_ < 2 * reach; }
  /// Which of the partner's three that is, or which of the line's own.
  TESSERA_OF_A_LANE int exchanged() const { return done_ < reach ? done_ : 2 * reach - 1 - done_; }

  /// The row's numbers; those of the next row are asked for.
  TESSERA_OF_A_LANE void contractAlongZ(AlongZ& f)
  {
    const Axis& axis = plan_.axes[2];
    if (zWhole_) {
      TESSERA_UNROLL
      for (int c = 0; c < 2; ++c) {
        const double s1 = row_[2][c] + row_[4][c], s2 = row_[1][c] + row_[5][c], s3 = row_[0][c] + row_[6][c];
        TESSERA_UNROLL
        for (int p = 0; p < 3; ++p) {
          const double* w = axis.whole[p];
          f[p][c] = fma(w[3], s3, fma(w[2], s2, fma(w[1], s1, w[0] * row_[3][c])));
        }
      }
    } else {
      const double* band = axis.rows + static_cast<std::size_t>(place_.z) * perPoint;
      TESSERA_UNROLL
      for (int p = 0; p < 3; ++p) {
        f[p][0] = f[p][1] = 0;
        TESSERA_UNROLL
        for (int m = 0; m < neighbours; ++m, ++band) {
          f[p][0] = fma(loaded(band), row_[m][0], f[p][0]);
          f[p][1] = fma(loaded(band), row_[m][1], f[p][1]);
        }
      }
    }
    if (--rows_ > 0)
      next_ += ofRow_;
    load();
  }

  /// Contracts the row along the first axis and adds it to the outputs around it, of which one row is then complete: `done`.
  /// `neighbour(q, c, by)` is f[q][c] of the lane `by` after this one, some number if there is no such lane.
  template <class Neighbour>
  TESSERA_OF_A_LANE void add(const AlongZ& f, Neighbour neighbour, double (&done)[2])
  {
    Columns<Paired>::load(coefficients_ + own_, second_, here_);
    double e[3][2]; // sums of all ways to take 0, 1 and 2 derivatives along the last and the first axis
    TESSERA_UNROLL
    for (int q = 0; q < 3; ++q) {
      const double v[columnsOfRow] = {neighbour(q, 1, -2), neighbour(q, 0, -1), neighbour(q, 1, -1), f[q][0], f[q][1],
                                      neighbour(q, 0, 1),  neighbour(q, 1, 1),  neighbour(q, 0, 2)};
      TESSERA_UNROLL
      for (int p = q; p < 3; ++p)
        TESSERA_UNROLL
      for (int c = 0; c < 2; ++c) {
        double sum = q == 0 ? x_[p][0][c] * v[c] : fma(x_[p - q][0][c], v[c], e[p][c]);
        TESSERA_UNROLL
        for (int m = 1; m < neighbours; ++m)
          sum = fma(x_[p - q][m][c], v[m + c], sum);
        e[p][c] = sum;
      }
    }
    addAlongY(e, done);
  }
  /// The next outputs, to which no row is left to be added.
  TESSERA_OF_A_LANE void next(double (&done)[2])
  {
    Columns<Paired>::load(coefficients_ + own_, second_, here_);
    TESSERA_UNROLL
    for (int c = 0; c < 2; ++c) {
      done[c] = sums_[c][0];
      TESSERA_UNROLL
      for (int j = 0; j + 1 < pending; ++j)
        sums_[c][j] = sums_[c][j + 1];
    }
  }
  /// Goes on to the next row. The line's own outputs are taken into its value, their gradient is written unless there is none.
  TESSERA_OF_A_LANE void finish(const double (&done)[2])
  {
    if (!isPartners()) {
      TESSERA_UNROLL
      for (int c = 0; c < 2; ++c)
        values_[c] = fma(here_[c], done[c], values_[c]);
      if (gradient_)
        Columns<Paired>::store(done, outputs_[0], outputs_[1], gradient_ + own_);
      own_ += ofRow_;
    }
    ++done_;
    y_ += place_.step;
  }
  /// The lane's part of the energy.
  TESSERA_OF_A_LANE double value() const { return ((outputs_[0] ? values_[0] : 0) + (outputs_[1] ? values_[1] : 0)) / 2; }

private:
  static constexpr int pending = 2 * reach, columnsOfRow = 2 + 2 * reach;

  TESSERA_OF_A_LANE void load()
  {
    TESSERA_UNROLL
    for (int m = 0; m < neighbours; ++m)
      Columns<Paired>::load(next_ + layers_[m], second_, row_[m]);
  }

  /// To the rows around it, by its own bands: what it is to them, they are to it. Where those are symmetric, two rows share
  /// products.
  TESSERA_OF_A_LANE void addAlongY(const double (&e)[3][2], double (&done)[2])
  {
    const Axis& axis = plan_.axes[1];
    if (whole(axis, y_)) {
      TESSERA_UNROLL
      for (int c = 0; c < 2; ++c) {
        double t[reach + 1]; // to rows that far away
        TESSERA_UNROLL
        for (int m = 0; m <= reach; ++m)
          t[m] = fma(axis.whole[0][m], e[2][c], fma(axis.whole[1][m], e[1][c], axis.whole[2][m] * e[0][c]));
        done[c] = sums_[c][0] + t[reach];
        TESSERA_UNROLL
        for (int j = 0; j + 1 < pending; ++j)
          sums_[c][j] = sums_[c][j + 1] + t[j < reach ? reach - 1 - j : j + 1 - reach];
        sums_[c][pending - 1] = t[reach];
      }
      return;
    }
    const double* band = axis.rows + static_cast<std::size_t>(y_) * perPoint + reach - reach * place_.step;
    TESSERA_UNROLL
    for (int m = 0; m < neighbours; ++m, band += place_.step) {
      const double none = loaded(band), one = loaded(band + neighbours), two = loaded(band + 2 * neighbours);
      TESSERA_UNROLL
      for (int c = 0; c < 2; ++c) {
        double& to = m == 0 ? done[c] : sums_[c][m - 1];
        const double before = m + 1 < neighbours ? sums_[c][m] : 0;
        to = fma(none, e[2][c], fma(one, e[1][c], fma(two, e[0][c], before)));
      }
    }
  }

  const Plan& plan_;
  const Place& place_;
  const double* coefficients_;
  double* gradient_;
  bool zWhole_, outputs_[2];          // the layer's bands are; the columns are
  int y_, rows_, done_ = 0;           // the row; rows from there on; those before
  const double* next_;                // the row that is asked for, in the warp's layer
  std::ptrdiff_t own_, ofRow_;        // where the next row of outputs has its coefficients and its gradient; to the one after it
  int second_;                        // from the first column to the second one
  std::ptrdiff_t layers_[neighbours]; // from the warp's layer to those around it
  double x_[3][neighbours][2];        // bands of the lane's columns
  double row_[neighbours][2];         // what was asked for
  double here_[2];                    // coefficients of the next outputs
  double sums_[2][pending] = {};      // of the next rows of outputs in the warp's direction, so far
  double values_[2] = {};
};

}
