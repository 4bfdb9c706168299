#include "Components/FieldInterpolators/Shared/CpuFieldRows.h"

#include "Core/Compute/HostDevice.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace tessera {
namespace {

constexpr std::size_t streamedBytes = std::size_t(32) << 20; // about the size of a last-level cache
constexpr std::size_t lineValues = 16;                       // floats in a cache line

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

std::size_t valuesToLine(const float* to)
{
  return (lineValues - reinterpret_cast<std::uintptr_t>(to) / sizeof(float) % lineValues) % lineValues;
}

#if defined(__SSE2__)
// The widest stores there are: one store of a whole line costs a quarter of four stores of its parts.
TESSERA_VERSION_DEFAULT void streamLines(float* to, const float* from, std::size_t count)
{
  for (std::size_t i = 0; i < count; i += 4)
    _mm_stream_ps(to + i, _mm_loadu_ps(from + i));
}
#if defined(TESSERA_VERSIONS)
__attribute__((target("avx"))) void streamLines(float* to, const float* from, std::size_t count)
{
  for (std::size_t i = 0; i < count; i += 8)
    _mm256_stream_ps(to + i, _mm256_loadu_ps(from + i));
}

__attribute__((target("avx512f"))) void streamLines(float* to, const float* from, std::size_t count)
{
  for (std::size_t i = 0; i < count; i += 16)
    _mm512_stream_ps(to + i, _mm512_loadu_ps(from + i));
}
#endif
#else
void streamLines(float* to, const float* from, std::size_t count)
{
  std::memcpy(to, from, count * sizeof(float));
}
#endif

/// Writes whole cache lines past the cache. The parts of lines at both ends are written through the cache,
/// since past it each would cost as much as many lines.
void stream(float* to, const float* from, std::size_t count)
{
  const std::size_t head = std::min(count, valuesToLine(to)),
                    lines = (count - head) / lineValues * lineValues;
  std::memcpy(to, from, head * sizeof(float));
  streamLines(to + head, from + head, lines);
  std::memcpy(to + head + lines, from + head + lines, (count - head - lines) * sizeof(float));
}

template <int Components>
void interleave(const float* const* rows, std::size_t first, std::size_t count, float* out)
{
  for (std::size_t i = 0; i < count; ++i)
    for (int c = 0; c < Components; ++c)
      out[i * Components + c] = rows[c][first + i];
}

void pad(const float* const* rows, int components, std::size_t first, std::size_t count, float* out)
{
  for (std::size_t i = 0; i < count; ++i)
    for (int c = 0; c < 4; ++c)
      out[i * 4 + c] = c < components ? rows[c][first + i] : 0;
}

}

AxisTable::AxisTable(const FieldAxis& axis, int order, bool withDerivatives)
    : taps(order + 1), voxels(axis.voxels), points(axis.points), stride(axis.voxels + padding)
{
  weights.resize((order + 1) * static_cast<std::size_t>(stride));
  if (withDerivatives)
    derivatives.resize(weights.size());
  starts.reserve(axis.voxels);
  if (order == 1)
    fillWeights<1>(*this, axis, withDerivatives);
  else if (order == 2)
    fillWeights<2>(*this, axis, withDerivatives);
  else
    fillWeights<3>(*this, axis, withDerivatives);
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
    : target_(target), voxels_(voxels), components_(components),
      streamed_(voxels * components * sizeof(float) > streamedBytes)
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

std::size_t FieldWriter::fromLine(int component, std::size_t voxel) const
{
  const std::size_t values = planar() ? 1 : target_.layout == FieldLayout::padded ? 4 : components_;
  const float* const to = target_.values + (planar() ? component * voxels_ : 0);
  if (streamed_ && values == 1)
    return voxel + valuesToLine(to + voxel);
  for (std::size_t i = voxel; streamed_ && i < voxel + lineValues; ++i)
    if (valuesToLine(to + i * values) == 0)
      return i;
  return voxel;
}

void FieldWriter::put(float* to, const float* from, std::size_t count) const
{
  if (streamed_)
    stream(to, from, count);
  else
    std::memcpy(to, from, count * sizeof(float));
}

void FieldWriter::write(std::size_t firstVoxel, std::size_t count, const float* const* rows) const
{
  if (planar()) {
    for (int c = 0; c < components_; ++c)
      writeComponent(c, firstVoxel, count, rows[c]);
    return;
  }
  constexpr std::size_t piece = 256;
  const bool padded = target_.layout == FieldLayout::padded;
  const std::size_t values = padded ? 4 : components_;
  float together[piece * 9];
  for (std::size_t first = 0; first < count; first += piece) {
    const std::size_t part = std::min(piece, count - first);
    if (padded)
      pad(rows, components_, first, part, together);
    else if (components_ == 3)
      interleave<3>(rows, first, part, together);
    else if (components_ == 2)
      interleave<2>(rows, first, part, together);
    else if (components_ == 4)
      interleave<4>(rows, first, part, together);
    else if (components_ == 9)
      interleave<9>(rows, first, part, together);
    else
      interleave<1>(rows, first, part, together);
    put(target_.values + (firstVoxel + first) * values, together, part * values);
  }
}

void FieldWriter::finish() const
{
#if defined(__SSE2__)
  if (streamed_)
    _mm_sfence();
#endif
}

}
