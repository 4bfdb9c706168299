#include "Components/FieldInterpolators/Shared/SeparableRows.h"

#include "Core/Compute/HostDevice.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

namespace tessera {
namespace {

typedef double Lanes __attribute__((vector_size(rowVector * sizeof(double))));
typedef float SingleLanes __attribute__((vector_size(rowVector * sizeof(float))));

TESSERA_ALWAYS_INLINE Lanes load(const double* from)
{
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return lanes;
}

TESSERA_ALWAYS_INLINE void store(double* to, const Lanes& lanes)
{
  std::memcpy(to, &lanes, sizeof(lanes));
}

TESSERA_ALWAYS_INLINE void store(float* to, const Lanes& lanes)
{
  const SingleLanes single = __builtin_convertvector(lanes, SingleLanes);
  std::memcpy(to, &single, sizeof(single));
}

/// Copies of pointers and weights that the compiler may keep in registers.
template <int Taps>
struct WeightedRows {
  TESSERA_ALWAYS_INLINE WeightedRows(const double* const* sources, const double* weights)
  {
    for (int k = 0; k < Taps; ++k) {
      source[k] = sources[k];
      weight[k] = weights[k];
    }
  }
  TESSERA_ALWAYS_INLINE Lanes sum(std::size_t i) const
  {
    Lanes sum = load(source[0] + i) * weight[0];
    for (int k = 1; k < Taps; ++k)
      sum += load(source[k] + i) * weight[k];
    return sum;
  }

  const double* source[Taps];
  double weight[Taps];
};

template <int Taps>
TESSERA_MULTIVERSION_TO_V4 void lineOfTaps(const AxisTable& axis, const double* weights, const double* points,
                                           double* line)
{
  for (const AxisRun& run : axis.runs) {
    if (!run.inside()) {
      std::fill_n(line + run.firstVoxel, run.voxels, 0.0);
      continue;
    }
    const double* const carriers = points + run.start;
    // Values that are written behind the run are overwritten by the next one.
    for (int i = run.firstVoxel; i < run.firstVoxel + run.voxels; i += rowVector) {
      Lanes sum = load(weights + i) * carriers[0];
      for (int k = 1; k < Taps; ++k)
        sum += load(weights + k * axis.stride + i) * carriers[k];
      store(line + i, sum);
    }
  }
}

template <int Taps, class Value>
TESSERA_MULTIVERSION_TO_V4 void rowsOfTaps(const double* const* sources, const double* weights,
                                           std::size_t count, Value* row)
{
  const WeightedRows<Taps> rows(sources, weights);
  for (std::size_t i = 0; i < count; i += rowVector)
    store(row + i, rows.sum(i));
}

/// The D x D matrices dT/dx of the vector of voxels at i.
template <int D, int Taps>
TESSERA_ALWAYS_INLINE void jacobianAt(const DerivativeSources<D>& from, std::size_t i,
                                      Lanes (&jacobian)[D][D])
{
  for (int c = 0; c < D; ++c) {
    const double* const* of = from.sources + c * D * Taps;
    Lanes slopes[D];
    slopes[0] = WeightedRows<Taps>(of + Taps, from.weights).sum(i);
    slopes[D - 1] = WeightedRows<Taps>(of, from.derivatives).sum(i);
    if constexpr (D == 3)
      slopes[1] = WeightedRows<Taps>(of + 2 * Taps, from.weights).sum(i);
    for (int j = 0; j < D; ++j) {
      jacobian[c][j] = slopes[0] * from.indexFromOffset[0][j];
      for (int a = 1; a < D; ++a)
        jacobian[c][j] += slopes[a] * from.indexFromOffset[a][j];
      if (c == j)
        jacobian[c][j] += 1.0;
    }
  }
}

template <int D, int Taps>
TESSERA_MULTIVERSION_TO_V4 void jacobiansOfTaps(const DerivativeSources<D>& from, std::size_t count,
                                                float* const* rows)
{
  for (std::size_t i = 0; i < count; i += rowVector) {
    Lanes jacobian[D][D];
    jacobianAt<D, Taps>(from, i, jacobian);
    for (int c = 0; c < D; ++c)
      for (int j = 0; j < D; ++j)
        store(rows[c * D + j] + i, jacobian[c][j]);
  }
}

template <int D, int Taps>
TESSERA_MULTIVERSION_TO_V4 void determinantsOfTaps(const DerivativeSources<D>& from, std::size_t count,
                                                   float* row)
{
  for (std::size_t i = 0; i < count; i += rowVector) {
    Lanes m[D][D];
    jacobianAt<D, Taps>(from, i, m);
    if constexpr (D == 2)
      store(row + i, m[0][0] * m[1][1] - m[0][1] * m[1][0]);
    else
      store(row + i, m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
                         - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
                         + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]));
  }
}

template <class Body>
void withTaps(int taps, Body&& body)
{
  if (taps == 4)
    body(std::integral_constant<int, 4>{});
  else if (taps == 3)
    body(std::integral_constant<int, 3>{});
  else if (taps == 2)
    body(std::integral_constant<int, 2>{});
  else
    body(std::integral_constant<int, 1>{});
}

}

void contractLine(const AxisTable& axis, int taps, const double* weights, const double* points, double* line)
{
  withTaps(taps, [&](auto constant) { lineOfTaps<constant()>(axis, weights, points, line); });
}

void contractRows(int taps, const double* const* sources, const double* weights, std::size_t count,
                  double* row)
{
  withTaps(taps, [&](auto constant) { rowsOfTaps<constant()>(sources, weights, count, row); });
}

void contractRowsToSingle(int taps, const double* const* sources, const double* weights, std::size_t count,
                          float* row)
{
  withTaps(taps, [&](auto constant) { rowsOfTaps<constant()>(sources, weights, count, row); });
}

template <int D>
void jacobianRows(const DerivativeSources<D>& from, std::size_t count, float* const* rows)
{
  withTaps(from.taps, [&](auto constant) { jacobiansOfTaps<D, constant()>(from, count, rows); });
}

template <int D>
void determinantRow(const DerivativeSources<D>& from, std::size_t count, float* row)
{
  withTaps(from.taps, [&](auto constant) { determinantsOfTaps<D, constant()>(from, count, row); });
}

TESSERA_INSTANTIATE_FUNCTIONS(jacobianRows<D>, determinantRow<D>);

}
