#include "Core/Registration/Fields/FieldAdjoint.h"

#include "Core/Compute/HostDevice.h"
#include "Core/Compute/Math/WithConstant.h"
#include "Core/Compute/Threads/Parallel.h"
#include "Core/Compute/Vectors/VectorOps.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace tessera {
namespace {

constexpr int maxTaps = 4;

typedef double Doubles __attribute__((vector_size(32)));
typedef double WideDoubles __attribute__((vector_size(64)));
typedef float WideFloats __attribute__((vector_size(32)));
constexpr int width = 8;

/// B-spline weights of the voxels of an axis. An order with fewer than maxTaps weights fills up with zeros.
struct AxisWeights {
  int order, points;
  std::vector<int> starts;
  std::vector<Doubles> weights;

  AxisWeights(const FieldAxis& axis, int splineOrder) : order(splineOrder), points(axis.points)
  {
    for (int v = 0; v < axis.voxels; ++v) {
      const AxisSupport support = supportOf(axis, v, order);
      double w[maxTaps] = {};
      withConstant<0, 3>(order, [&]<int Order>() { axisWeights<Order, double>(support, w); });
      starts.push_back(support.start);
      weights.push_back(Doubles{w[0], w[1], w[2], w[3]});
    }
  }
  int voxels() const { return static_cast<int>(starts.size()); }
  int lastPoint(int voxel) const { return starts[voxel] + order; }
  /// The first voxel after `voxel` with other control points in its support, or `end` if that comes first.
  int cellEnd(int voxel, int end) const
  {
    const int start = starts[voxel];
    while (voxel < end && starts[voxel] == start)
      ++voxel;
    return voxel;
  }
};

/// The covectors of one component and, unless null, their factors.
struct Values {
  const float* covectors;
  const float* factors;
};

template <class Vector>
TESSERA_ALWAYS_INLINE Vector load(const void* from)
{
  Vector vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}

/// to[t * stride + x] += sum over rows r of the cell: weights[r][t] * values[first + r * rowStride + x].
/// The rows of a cell lie far apart and are too short for the processor to prefetch them, so the next rows
/// are prefetched here.
template <bool WithFactors>
TESSERA_ALWAYS_INLINE void addCellOf(const Values& values, std::size_t first, std::size_t rowStride,
                                     const Doubles* weights, int rows, int count, int taps, double* to,
                                     std::size_t stride)
{
  int x = 0;
  for (; x + width <= count; x += width) {
    WideDoubles sums[maxTaps] = {};
    std::size_t at = first + x;
    for (int r = 0; r < rows; ++r, at += rowStride) {
      WideFloats value = load<WideFloats>(values.covectors + at);
      __builtin_prefetch(values.covectors + at + count);
      if constexpr (WithFactors) {
        value *= load<WideFloats>(values.factors + at);
        __builtin_prefetch(values.factors + at + count);
      }
      const WideDoubles exact = __builtin_convertvector(value, WideDoubles);
      for (int t = 0; t < maxTaps; ++t)
        sums[t] += weights[r][t] * exact;
    }
    for (int t = 0; t < taps; ++t) {
      double* const target = to + t * stride + x;
      const WideDoubles sum = load<WideDoubles>(target) + sums[t];
      std::memcpy(target, &sum, sizeof sum);
    }
  }
  for (; x < count; ++x)
    for (int t = 0; t < taps; ++t) {
      double sum = 0;
      for (int r = 0; r < rows; ++r) {
        const std::size_t at = first + r * rowStride + x;
        const float value = WithFactors ? values.factors[at] * values.covectors[at] : values.covectors[at];
        sum += weights[r][t] * value;
      }
      to[t * stride + x] += sum;
    }
}

TESSERA_MULTIVERSION_TO_V4 void addCell(const Values& values, std::size_t first, std::size_t rowStride,
                                        const Doubles* weights, int rows, int count, int taps, double* to,
                                        std::size_t stride)
{
  if (values.factors)
    addCellOf<true>(values, first, rowStride, weights, rows, count, taps, to, stride);
  else
    addCellOf<false>(values, first, rowStride, weights, rows, count, taps, to, stride);
}

/// to[t * stride + x] += weight[t] * row[x]
TESSERA_MULTIVERSION_TO_V4 void addRow(const double* row, const Doubles& weights, int count, int taps,
                                       double* to, std::size_t stride)
{
  for (int t = 0; t < taps; ++t) {
    const double weight = weights[t];
    double* at = to + t * stride;
    for (int x = 0; x < count; ++x)
      at[x] += weight * row[x];
  }
}

/// Contracts a row of voxels to its row of control points. `to` needs room for maxTaps - 1 more values.
TESSERA_MULTIVERSION void contractRow(const double* row, const AxisWeights& axis, double* to)
{
  std::fill(to, to + axis.points + maxTaps - 1, 0.0);
  const int voxels = axis.voxels();
  for (int x = 0; x < voxels;) {
    const int start = axis.starts[x];
    Doubles sum = {}, more = {};
    for (; x + 1 < voxels && axis.starts[x + 1] == start; x += 2) {
      sum += axis.weights[x] * row[x];
      more += axis.weights[x + 1] * row[x + 1];
    }
    if (x < voxels && axis.starts[x] == start) {
      sum += axis.weights[x] * row[x];
      ++x;
    }
    Doubles at;
    std::memcpy(&at, to + start, sizeof at);
    at += sum + more;
    std::memcpy(to + start, &at, sizeof at);
  }
}

/// A range of voxels along the last axis. Its control points are summed separately from other chunks.
struct Chunk {
  int first, end;      // range of voxels
  int slice, slices;   // first slice of control points, and their number
  std::size_t partial; // where the chunk's control points begin in the array of partial sums
};

std::vector<Chunk> chunksOf(const AxisWeights& axis, const FieldAxis& march, std::size_t perSlice)
{
  const int length = std::clamp(static_cast<int>(std::lround(4 / march.step)), 8, 64);
  std::vector<Chunk> chunks;
  std::size_t partial = 0;
  for (int first = 0; first < march.voxels; first += length) {
    const int end = std::min(first + length, march.voxels), slice = axis.starts[first];
    chunks.push_back({first, end, slice, axis.lastPoint(end - 1) - slice + 1, partial});
    partial += chunks.back().slices * perSlice;
  }
  return chunks;
}

/// Contracts a chunk of one component along z, then y, then x. `partial` receives its control points, slice
/// by slice.
void contractChunk(const Chunk& chunk, const AxisWeights& x, const AxisWeights& y, const AxisWeights& z,
                   const Values& values, double* partial)
{
  thread_local std::vector<double> rows, planes, points;
  const std::size_t nx = x.starts.size(), ny = y.starts.size(), linesNx = y.points * nx;
  planes.assign(chunk.slices * linesNx, 0.0);
  points.resize(x.points + maxTaps - 1);
  for (std::size_t v = 0; v < ny; ++v) {
    rows.assign(chunk.slices * nx, 0.0);
    for (int first = chunk.first; first < chunk.end;) {
      const int end = z.cellEnd(first, chunk.end);
      addCell(values, (first * ny + v) * nx, nx * ny, z.weights.data() + first, end - first,
              static_cast<int>(nx), z.order + 1, rows.data() + (z.starts[first] - chunk.slice) * nx, nx);
      first = end;
    }
    for (int slice = 0; slice < chunk.slices; ++slice)
      addRow(rows.data() + slice * nx, y.weights[v], static_cast<int>(nx), y.order + 1,
             planes.data() + slice * linesNx + y.starts[v] * nx, nx);
  }
  for (int line = 0; line < chunk.slices * y.points; ++line) {
    contractRow(planes.data() + line * nx, x, points.data());
    std::copy_n(points.begin(), x.points, partial + static_cast<std::size_t>(line) * x.points);
  }
}

template <int D>
void pullBackOnCpu(Context& context, const AlignedField<D>& field,
                   const std::array<const float*, D>& covectors, const float* factors, double* gradient)
{
  const AxisWeights x(field.axes[0], field.order), z(field.axes[D - 1], field.order);
  const AxisWeights y = D == 3 ? AxisWeights(field.axes[1], field.order) : AxisWeights({0, 1, 1, 1}, 0);
  const std::size_t perSlice = static_cast<std::size_t>(x.points) * y.points,
                    perComponent = perSlice * z.points;
  const std::vector<Chunk> chunks = chunksOf(z, field.axes[D - 1], perSlice);
  const std::size_t perPartial = chunks.back().partial + chunks.back().slices * perSlice;
  std::vector<double> partial(D * perPartial);
  forEachChunk(context, D * chunks.size(), [&](std::size_t task) {
    const std::size_t c = task % D;
    const Chunk& chunk = chunks[task / D];
    contractChunk(chunk, x, y, z, {covectors[c], factors}, partial.data() + c * perPartial + chunk.partial);
  });
  forEachChunk(context, D * static_cast<std::size_t>(z.points), [&](std::size_t task) {
    const std::size_t c = task % D;
    const int slice = static_cast<int>(task / D);
    double* to = gradient + c * perComponent + slice * perSlice;
    for (const Chunk& chunk : chunks) {
      if (slice < chunk.slice || slice >= chunk.slice + chunk.slices)
        continue;
      const double* from = partial.data() + c * perPartial + chunk.partial + (slice - chunk.slice) * perSlice;
      for (std::size_t i = 0; i < perSlice; ++i)
        to[i] += from[i];
    }
  });
}

}

template <int D>
void pullBackAlignedField(Context& context, const AlignedField<D>& field,
                          const std::array<const float*, D>& covectors, const float* factors,
                          GradientSummation summation, double* gradient, GradientBefore before)
{
  const bool weighsNothing = std::ranges::any_of(
      field.axes, [&](const FieldAxis& axis) { return axis.points <= field.order || axis.voxels < 1; });
  if (before == GradientBefore::goes && (weighsNothing || !context.onCuda()))
    fill(context, 0, {gradient, D * field.pointCount()});
  if (weighsNothing)
    return;
  if (context.onCuda())
    pullBackAlignedFieldOnCuda<D>(context, field, covectors, factors, summation, gradient, before);
  else
    pullBackOnCpu<D>(context, field, covectors, factors, gradient);
}

TESSERA_INSTANTIATE_FUNCTIONS(pullBackAlignedField<D>);

}
