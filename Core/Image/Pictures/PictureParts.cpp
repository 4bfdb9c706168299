#include "Core/Image/Pictures/PictureParts.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace tessera {
namespace {

/// The 0.5th and the 99.5th percentile.
GreyRange percentiles(std::vector<float>& values)
{
  const auto low = static_cast<std::ptrdiff_t>(values.size() / 200),
             high = static_cast<std::ptrdiff_t>(values.size()) - 1 - low;
  std::nth_element(values.begin(), values.begin() + low, values.end());
  const float black = values[static_cast<std::size_t>(low)];
  std::nth_element(values.begin(), values.begin() + high, values.end());
  return {black, values[static_cast<std::size_t>(high)]};
}

}

template <int D>
std::vector<Plane> planesOf(const Matrix<D>& direction)
{
  if constexpr (D == 2)
    return {{0, 1, -1, false, false, false}};
  std::array<int, 3> axis{-1, -1, -1}; // of the image, for each of L, P and S
  std::array<bool, 3> isTaken{}, falls{};
  for (int step = 0; step < D; ++step) {
    double best = -1;
    int world = 0, image = 0;
    for (int w = 0; w < D; ++w)
      for (int i = 0; i < D; ++i)
        if (axis[static_cast<std::size_t>(w)] < 0 && !isTaken[static_cast<std::size_t>(i)]
            && std::abs(direction[w][i]) > best) {
          best = std::abs(direction[w][i]);
          world = w;
          image = i;
        }
    axis[static_cast<std::size_t>(world)] = image;
    isTaken[static_cast<std::size_t>(image)] = true;
    falls[static_cast<std::size_t>(world)] = direction[world][image] < 0;
  }
  return {{axis[0], axis[1], axis[2], falls[0], falls[1], falls[2]},
          {axis[0], axis[2], axis[1], falls[0], !falls[2], falls[1]},
          {axis[1], axis[2], axis[0], falls[1], !falls[2], falls[0]}};
}

GreyLine windowOf(std::vector<float> values)
{
  return percentiles(values).line();
}

GreyRange greyRangeOf(std::vector<float> values)
{
  const auto [least, greatest] = std::ranges::minmax(values);
  const auto isFilling = [&](float extreme) {
    return static_cast<std::size_t>(std::ranges::count(values, extreme)) > values.size() / 100;
  };
  const bool below = isFilling(least), above = isFilling(greatest);
  std::vector<float> others;
  std::ranges::copy_if(values, std::back_inserter(others), [&, lowest = least, highest = greatest](float v) {
    return !((below && v == lowest) || (above && v == highest));
  });
  const bool haveContrast =
      !others.empty() && std::ranges::any_of(others, [&](float v) { return v != others.front(); });
  return percentiles(haveContrast ? others : values);
}

std::array<GreyRange, 2> greyRangesOf(const GreyRange& first, const GreyRange& second)
{
  const GreyRange all{std::min(first.black, second.black), std::max(first.white, second.white)};
  const float shared = std::min(first.white, second.white) - std::max(first.black, second.black);
  if (shared > 0 && shared >= (all.white - all.black) / 2)
    return {all, all};
  return {first, second};
}

std::uint8_t greyLevel(float value)
{
  return static_cast<std::uint8_t>(std::clamp(value + 0.5F, 0.0F, 255.0F));
}

TESSERA_INSTANTIATE_FUNCTIONS(planesOf<D>);

}
