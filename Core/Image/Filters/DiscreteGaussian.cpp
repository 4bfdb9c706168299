#include "Core/Image/Filters/DiscreteGaussian.h"

#include "Core/Compute/Memory/LargeArrays.h"
#include "Core/Compute/Threads/Parallel.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

// exp(-y) I_n(y) for y >= 0 (Abramowitz and Stegun 9.8.1 to 9.8.4). The factor stays inside: exp(y) alone
// overflows from factor 54 on.

double polynomial(double x, std::initializer_list<double> highestFirst)
{
  double sum = 0;
  for (const double c : highestFirst)
    sum = sum * x + c;
  return sum;
}

double scaledBessel0(double y)
{
  if (y < 3.75)
    return std::exp(-y)
           * polynomial(y * y / (3.75 * 3.75),
                        {0.0045813, 0.0360768, 0.2659732, 1.2067492, 3.0899424, 3.5156229, 1.0});
  return 1 / std::sqrt(y)
         * polynomial(3.75 / y, {0.00392377, -0.01647633, 0.02635537, -0.02057706, 0.00916281, -0.00157565,
                                 0.00225319, 0.01328592, 0.39894228});
}

double scaledBessel1(double y)
{
  if (y < 3.75)
    return std::exp(-y) * y
           * polynomial(y * y / (3.75 * 3.75),
                        {0.00032411, 0.00301532, 0.02658733, 0.15084934, 0.51498869, 0.87890594, 0.5});
  return 1 / std::sqrt(y)
         * polynomial(3.75 / y, {-0.00420059, 0.01787654, -0.02895312, 0.02282967, -0.01031555, 0.00163801,
                                 -0.00362018, -0.03988024, 0.39894228});
}

/// Order n >= 2 by Miller's downward recurrence I_(j-1) = I_(j+1) + 2 j / y I_j, scaled by I_0.
double scaledBessel(int n, double y)
{
  if (y == 0)
    return 0;
  double above = 0, here = 1, wanted = 0;
  for (int j = 2 * (n + static_cast<int>(std::sqrt(40.0 * n))); j > 0; --j) {
    const double below = above + j * (2 / y) * here;
    above = here;
    here = below;
    if (std::abs(here) > 1e10)
      for (double* value : {&above, &here, &wanted})
        *value *= 1e-10;
    if (j == n)
      wanted = above;
  }
  return wanted * scaledBessel0(y) / here;
}

std::size_t tapPosition(const AxisTaps& taps, std::size_t i, std::size_t k, std::size_t length)
{
  const std::ptrdiff_t at = static_cast<std::ptrdiff_t>(taps.step * i + k) + taps.first;
  return static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(at, 0, static_cast<std::ptrdiff_t>(length) - 1));
}

/// Applies taps along an axis other than the first. `in` has lines of `length` values along the axis, and
/// `inner` neighbouring lines lie side by side.
void tapOuterAxis(const Context& context, const std::vector<float>& in, std::size_t inner, std::size_t length,
                  const AxisTaps& taps, std::vector<float>& out)
{
  const std::size_t rows = out.size() / inner; // (outer, i) pairs
  forEachChunk(context, rows, [&](std::size_t row) {
    thread_local std::vector<double> sums;
    sums.assign(inner, 0);
    const float* const slab = in.data() + row / taps.count * length * inner;
    for (std::size_t k = 0; k < taps.weights.size(); ++k) {
      const float* const values = slab + tapPosition(taps, row % taps.count, k, length) * inner;
      const double weight = taps.weights[k];
      for (std::size_t x = 0; x < inner; ++x)
        sums[x] += weight * static_cast<double>(values[x]);
    }
    std::copy(sums.begin(), sums.end(), out.begin() + static_cast<std::ptrdiff_t>(row * inner));
  });
}

void tapRow(const float* row, std::size_t length, const AxisTaps& taps, float* out)
{
  for (std::size_t i = 0; i < taps.count; ++i) {
    double sum = 0;
    for (std::size_t k = 0; k < taps.weights.size(); ++k)
      sum += taps.weights[k] * static_cast<double>(row[tapPosition(taps, i, k, length)]);
    out[i] = static_cast<float>(sum);
  }
}

void tapRows(const Context& context, const std::vector<float>& in, std::size_t length, const AxisTaps& taps,
             std::vector<float>& out)
{
  constexpr std::size_t rowsPerChunk = 64;
  forEachRange(context, out.size() / taps.count, rowsPerChunk,
               [&](std::size_t firstRow, std::size_t lastRow) {
                 for (std::size_t row = firstRow; row < lastRow; ++row)
                   tapRow(in.data() + row * length, length, taps, out.data() + row * taps.count);
               });
}

}

std::vector<double> discreteGaussian(double variance, double maximumError, std::size_t maximumWidth)
{
  std::vector<double> half{scaledBessel0(variance), scaledBessel1(variance)};
  double sum = half[0] + 2 * half[1];
  for (int k = 2; sum < 1 - maximumError && half.size() <= maximumWidth; ++k) {
    half.push_back(scaledBessel(k, variance));
    sum += 2 * half.back();
    if (half.back() <= 0)
      break;
  }
  std::vector<double> whole(half.rbegin(), half.rend() - 1);
  whole.insert(whole.end(), half.begin(), half.end());
  for (double& weight : whole)
    weight /= sum;
  return whole;
}

AxisTaps smoothingTaps(double variance, std::size_t firstKept, std::size_t step, std::size_t count)
{
  AxisTaps taps{{1.0}, static_cast<std::ptrdiff_t>(firstKept), step, count};
  if (variance > 0) {
    taps.weights = discreteGaussian(variance, 0.1, 32);
    taps.first -= static_cast<std::ptrdiff_t>(taps.weights.size() / 2);
  }
  return taps;
}

template <int D>
Image<D> applyTaps(Context& context, const Image<D>& image, const std::array<AxisTaps, D>& taps,
                   const ImageGeometry<D>& geometry)
{
  Image<D> result{geometry, {}};
  const std::vector<float>* from = &image.voxels;
  Size<D> size = image.geometry.size;
  // The slowest axis is first, so that later axes do not read the rows that it drops.
  for (int axis = D - 1; axis >= 0; --axis) {
    if (taps[axis].isIdentity() && taps[axis].count == size[axis])
      continue;
    std::size_t inner = 1, outer = taps[axis].count;
    for (int d = 0; d < D; ++d)
      (d < axis ? inner : outer) *= d == axis ? 1 : size[d];
    std::vector<float> next = largeVector<float>(context, inner * outer);
    if (axis == 0)
      tapRows(context, *from, size[axis], taps[axis], next);
    else
      tapOuterAxis(context, *from, inner, size[axis], taps[axis], next);
    size[axis] = taps[axis].count;
    result.voxels = std::move(next);
    from = &result.voxels;
  }
  if (from == &image.voxels)
    result.voxels = image.voxels;
  return result;
}

TESSERA_INSTANTIATE_FUNCTIONS_TO_4(applyTaps<D>);

}
