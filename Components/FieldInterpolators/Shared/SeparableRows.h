#pragma once

#include "Components/FieldInterpolators/Shared/CpuFieldRows.h"

namespace tessera {

/// The functions below read and write rows in whole vectors of this many values, so rows need room behind
/// their end.
constexpr int rowVector = 8;

/// line[i] = sum_k weights[k][i] * points[start(i) + k] for all voxels of the axis; `weights` are those of
/// the table or their derivatives.
void contractLine(const AxisTable& axis, int taps, const double* weights, const double* points, double* line);

/// row[i] = sum_k weights[k] * sources[k][i].
void contractRows(int taps, const double* const* sources, const double* weights, std::size_t count,
                  double* row);
void contractRowsToSingle(int taps, const double* const* sources, const double* weights, std::size_t count,
                          float* row);

/// The sums from which the last contraction makes the spatial derivatives of a row. For component c and tap
/// k, sources[(c * D + kind) * taps + k] holds the sums over the other axes, where kind 0 has the weights
/// themselves, kind 1 their derivatives along x, and kind 2 (3D only) their derivatives along y.
template <int D>
struct DerivativeSources {
  int taps;
  const double* const* sources;
  const double *weights, *derivatives; // for the taps along the last axis
  const Matrix<D>& indexFromOffset;
};

/// Writes dT_c/dx_j into rows[c * D + j].
template <int D>
void jacobianRows(const DerivativeSources<D>&, std::size_t count, float* const* rows);

template <int D>
void determinantRow(const DerivativeSources<D>&, std::size_t count, float* row);

}
