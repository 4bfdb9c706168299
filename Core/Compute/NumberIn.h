#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace tessera {

/// The number that a text is, without anything before or behind it. It may be infinite or NaN.
template <class Number>
std::optional<Number> numberIn(std::string_view text)
{
  Number value{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}
