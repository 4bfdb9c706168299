#pragma once

#include "Core/Compute/Buffer.h"
#include "Core/Compute/CudaOnly.h"
#include "Core/Image/Filters/DiscreteGaussian.h"
#include "Core/Image/Filters/ExponentialFilter.h"

#include <array>
#include <cstddef>
#include <span>

namespace tessera {

/// An array of the device seen as lines along one of its axes: element i of line (outer, inner) is at
/// (outer * length + i) * stride + inner, inner < stride.
struct LinesOnCuda {
  std::size_t outer = 1, length = 1, stride = 1;
  bool sideBySide =
      stride > 1; // as blocks take them: neighbouring lines beside each other, or rows one behind the other

  /// x fastest.
  static LinesOnCuda along(std::span<const std::size_t> size, std::size_t axis)
  {
    LinesOnCuda lines;
    lines.length = size[axis];
    for (std::size_t d = 0; d < size.size(); ++d)
      (d < axis ? lines.stride : lines.outer) *= d == axis ? 1 : size[d];
    lines.sideBySide = axis > 0; // however few there are: a bundle of one line gives the bits of the whole
    return lines;
  }
  std::size_t lineCount() const { return outer * stride; }
};

/// What is kept of a filtered line: count values weights[0] y[first + step i] + weights[1] y[first + step i +
/// 1], indices clamped to the line.
struct KeptPlaces {
  std::size_t count = 0, step = 1, first = 0;
  std::array<float, 2> weights{1, 0};
};

// All pointers are of the device.

/// out[n] = the filter's value at every element; `in` may be `out`. For mirrored ends one or two real poles,
/// for constant ends two complex ones. In single precision: errors of some 1e-7 of the largest magnitude.
/// Reads and writes every element once; lines of over a thousand elements with constant ends are read twice.
TESSERA_CUDA_ONLY void filterLinesOnCuda(Context&, const ExponentialFilter&, LineEnds, const LinesOnCuda&,
                                         const float* in, float* out);

/// The same with constant ends, and only what is kept is written: lines of kept.count values, not into `in`.
TESSERA_CUDA_ONLY void filterLinesOnCuda(Context&, const ExponentialFilter&, LineEnds, const LinesOnCuda&,
                                         const KeptPlaces& kept, const float* in, float* out);

/// Taps along every line, at most 65 of them: lines of taps.count values, not into `in`. Reads and writes
/// once, but for taps that meet in no cache.
TESSERA_CUDA_ONLY void tapLinesOnCuda(const Context&, const LinesOnCuda&, const AxisTaps&, const float* in,
                                      float* out);

/// Throws Error(device) if kernels cannot count the lines.
void requireManageable(const LinesOnCuda&);

}
