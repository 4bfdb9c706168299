#pragma once

#include "Components/FieldInterpolators/Shared/CpuFieldRows.h"

namespace tessera {

/// Rows below are read and written in whole vectors of this many values: leave room behind them.
constexpr int rowVector = 8;

/// line[i] = sum_k weights[k][i] * points[start(i) + k] for all voxels of the axis; `weights` are the table's
/// or its derivatives.
void contractLine(const AxisTable& axis, int taps, const double* weights, const double* points, double* line);

/// row[i] = sum_k weights[k] * sources[k][i].
void contractRows(int taps, const double* const* sources, const double* weights, std::size_t count,
                  double* row);
void contractRowsToSingle(int taps, const double* const* sources, const double* weights, std::size_t count,
                          float* row);

/// What the spatial derivatives of a row are contracted from along the last axis. For component c and tap k
/// sources[(c * D + kind) * taps + k] holds the sums over the other axes: kind 0 of the weights, 1 of their
/// derivatives along x, 2 (3D only) of those along y.
template <int D>
struct DerivativeSources {
  int taps;
  const double* const* sources;
  const double *weights, *derivatives; // of the taps along the last axis
  const Matrix<D>& indexFromOffset;
};

/// dT_c/dx_j into rows[c * D + j].
template <int D>
void jacobianRows(const DerivativeSources<D>&, std::size_t count, float* const* rows);

template <int D>
void determinantRow(const DerivativeSources<D>&, std::size_t count, float* row);

}
