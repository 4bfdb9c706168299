#pragma once

#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Cuda/LaunchShape.h"
#include "Core/Compute/Memory/Buffer.h"
#include "Core/Image/Filters/DiscreteGaussian.h"
#include "Core/Image/Filters/ExponentialFilter.h"

#include <array>
#include <cstddef>
#include <span>

namespace tessera {

/// An array of the device as lines along one of its axes. Element i of line (outer, inner), inner < stride,
/// has the index (outer * length + i) * stride + inner.
struct LinesOnCuda {
  std::size_t outer = 1, length = 1, stride = 1;
  bool sideBySide =
      stride > 1; // whether a block filters neighbouring lines, or lines along x one behind the other

  /// The lines along an axis of an array, x fastest.
  static LinesOnCuda along(std::span<const std::size_t> size, std::size_t axis)
  {
    LinesOnCuda lines;
    lines.length = size[axis];
    for (std::size_t d = 0; d < size.size(); ++d)
      (d < axis ? lines.stride : lines.outer) *= d == axis ? 1 : size[d];
    lines.sideBySide = axis > 0; // even for one line: then it has the same bits as within the whole volume
    return lines;
  }
  std::size_t lineCount() const { return outer * stride; }
};

/// The values that are kept of a filtered line y: `count` values weights[0] y[first + step i] + weights[1]
/// y[first + step i + 1], with indices clamped to the line.
struct KeptPlaces {
  std::size_t count = 0, step = 1, first = 0;
  std::array<float, 2> weights{1, 0};
};

// All pointers are to device memory.

/// Filters every line; `in` may be `out`. With mirrored ends the filter must have one or two real poles, with
/// constant ends two complex ones. In single precision: the error is some 1e-7 of the largest magnitude.
/// Traffic: reads and writes every element once, but reads lines of more than a thousand elements with
/// constant ends twice.
TESSERA_CUDA_ONLY void filterLinesOnCuda(Context&, const ExponentialFilter&, LineEnds, const LinesOnCuda&,
                                         const float* in, float* out);

/// The same with constant ends, but writes only the kept values: lines of kept.count values. `out` must not
/// be `in`.
TESSERA_CUDA_ONLY void filterLinesOnCuda(Context&, const ExponentialFilter&, LineEnds, const LinesOnCuda&,
                                         const KeptPlaces& kept, const float* in, float* out);

/// Applies at most 65 taps along every line and writes lines of taps.count values. `out` must not be `in`.
/// Traffic: reads and writes every element once, if the caches hold the values that neighbouring taps share.
TESSERA_CUDA_ONLY void tapLinesOnCuda(const Context&, const LinesOnCuda&, const AxisTaps&, const float* in,
                                      float* out);

/// The launch of tapLinesOnCuda.
TESSERA_CUDA_ONLY LaunchShape tapLinesShape(const LinesOnCuda&, const AxisTaps&);

/// The launch of filterLinesOnCuda along rows with one real pole and lines of one chunk. A thread filters a
/// segment of 16 elements, and fetches the sums of so many neighbours on each side (`reach`).
struct RowsLaunch {
  LaunchShape shape;
  int segments = 0, reach = 0; // of a line
};
TESSERA_CUDA_ONLY RowsLaunch filterRowsLaunch(const Context&, const ExponentialFilter&, const LinesOnCuda&);

/// Throws Error(device) if there are more lines than the kernels' integers can count.
void requireManageable(const LinesOnCuda&);

}
