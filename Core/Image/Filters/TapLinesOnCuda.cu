#include "Core/Compute/Cuda/BlockThreads.h"
#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Compute/Cuda/LaunchShape.cuh"
#include "Core/Image/Filters/LineFilterOnCuda.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace tessera {
namespace {

constexpr int maxTaps = 65;

struct Taps {
  float weights[maxTaps];
  int taps, length;
  long long first, step;
  std::size_t count, stride, values;
};

/// out[i] = sum over k of weights[k] in[step * i + first + k], with indices clamped to the line (AxisTaps).
/// One thread a value, neighbouring threads for neighbouring values in memory. Elements that several values
/// need come from the caches.
__global__ void tapLines(const __grid_constant__ Taps taps, const float* in, float* out)
{
  const std::size_t value = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x;
  if (value >= taps.values)
    return;
  std::size_t inner, i, outer;
  if (taps.values <= 0xffffffffu) {
    const auto v = static_cast<unsigned>(value), stride = static_cast<unsigned>(taps.stride),
               count = static_cast<unsigned>(taps.count);
    const unsigned row = v / stride;
    inner = v - row * stride;
    outer = row / count;
    i = row - static_cast<unsigned>(outer) * count;
  } else {
    inner = value % taps.stride;
    i = value / taps.stride % taps.count;
    outer = value / taps.stride / taps.count;
  }
  const float* const line = in + outer * taps.length * taps.stride + inner;
  const long long first = taps.first + taps.step * static_cast<long long>(i), last = taps.length - 1;
  float sum = 0;
  if (first >= 0 && first + taps.taps <= taps.length) {
    const float* from = line + first * taps.stride;
    for (int k = 0; k < taps.taps; ++k, from += taps.stride)
      sum = fmaf(taps.weights[k], *from, sum);
  } else {
    for (int k = 0; k < taps.taps; ++k)
      sum = fmaf(taps.weights[k], line[min(max(first + k, 0ll), last) * taps.stride], sum);
  }
  out[value] = sum;
}

int blockThreads()
{
  return std::clamp(BlockThreads::orUsual(256), 32, 1024);
}

}

LaunchShape tapLinesShape(const LinesOnCuda& lines, const AxisTaps& axis)
{
  const int threads = blockThreads();
  return shapeOf(tapLines, std::ceil(static_cast<double>(lines.lineCount() * axis.count) / threads), threads);
}

void tapLinesOnCuda(const Context& context, const LinesOnCuda& lines, const AxisTaps& axis, const float* in,
                    float* out)
{
  requireManageable(lines);
  if (axis.weights.size() > maxTaps)
    throw Error(ExitCode::device, "taps on CUDA: " + std::to_string(axis.weights.size())
                                      + " weights: too many. Allowed: " + std::to_string(maxTaps) + ".");
  Taps taps{};
  std::copy(axis.weights.begin(), axis.weights.end(), taps.weights);
  taps.taps = static_cast<int>(axis.weights.size());
  taps.length = static_cast<int>(lines.length);
  taps.first = axis.first;
  taps.step = static_cast<long long>(axis.step);
  taps.count = axis.count;
  taps.stride = lines.stride;
  taps.values = lines.lineCount() * axis.count;
  if (taps.values == 0)
    return;
  const int threads = blockThreads();
  tapLines<<<static_cast<unsigned>(ceilDiv<std::size_t>(taps.values, threads)), threads, 0,
             cudaStreamOf(context)>>>(taps, in, out);
  checkLaunch("taps of lines");
}

void requireManageable(const LinesOnCuda& lines)
{
  constexpr std::size_t maxLines = std::numeric_limits<int>::max(),
                        longest = std::size_t{1} << 25; // a grid has 65535 chunks of 512
  if (lines.lineCount() > maxLines || lines.length > longest)
    throw Error(ExitCode::device, "filtering lines on CUDA: " + std::to_string(lines.lineCount())
                                      + " lines of " + std::to_string(lines.length)
                                      + " values: too many at a time. Allowed: " + std::to_string(maxLines)
                                      + " lines of up to " + std::to_string(longest) + ".");
}

}
