#include "Core/Image/Pictures/PictureParts.h"

namespace tessera {
namespace {

/// The 0.5th and the 99.5th percentile.
GreyRange percentiles(std::vector<float>& values)
{
  const auto low = static_cast<std::ptrdiff_t>(values.size() / 200),
             high = static_cast<std::ptrdiff_t>(values.size()) - 1 - low;
  std::nth_element(values.begin(), values.begin() + low, values.end());
  const float black = values[static_cast<std::size_t>(low)];
  std::nth_element(values.begin() + low, values.begin() + high, values.end());
  return {black, values[static_cast<std::size_t>(high)]};
}

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
  std::vector<float> others = values;
  std::erase_if(others, [&, lowest = least, highest = greatest](float v) {
    return (below && v == lowest) || (above && v == highest);
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

}
