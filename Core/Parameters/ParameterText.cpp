#include "Core/Parameters/ParameterText.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Compute/LowerCase.h"
#include "Core/Compute/NumberIn.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <type_traits>

namespace tessera {
namespace {

constexpr std::size_t shownValues = 8;                     // a B-spline has thousands
constexpr double largestExactInteger = 9007199254740992.0; // 2^53

std::string inQuotes(std::string_view text)
{
  return "\"" + std::string(text) + "\"";
}

std::string boundsText(const ParameterInfo& row)
{
  const bool below = std::isfinite(row.minimum), above = std::isfinite(row.maximum);
  if (row.minimum == aboveZero)
    return above ? " above 0, at most " + realText(row.maximum) : " above 0";
  if (below && above)
    return " from " + realText(row.minimum) + " to " + realText(row.maximum);
  if (below)
    return " of at least " + realText(row.minimum);
  return above ? " of at most " + realText(row.maximum) : "";
}

std::string allowedText(const ParameterInfo& row)
{
  switch (row.type) {
  case ParameterType::integer:
    return "Allowed: a whole number" + boundsText(row);
  case ParameterType::real:
    return "Allowed: a number" + boundsText(row);
  case ParameterType::boolean:
    return "Allowed: \"true\" or \"false\"";
  case ParameterType::text:
    break;
  }
  return row.choices.empty() ? "Allowed: any text" : "Allowed: " + joined(row.choices, ", ", inQuotes);
}

/// The value that is being read. It becomes text only for an error or a warning.
struct Reading {
  const ParameterInfo& row;
  const ParameterMap& map;
  const ParameterEntry& entry;
  const std::string& text;
  const std::function<void(const std::string&)>& warn;

  [[noreturn]] void fail(const std::string& wrong, const std::string& hint = "") const
  {
    failUsage(shownEntry(map, entry), inQuotes(text) + " " + wrong, hint + allowedText(row));
  }

  void report(const std::string& line) const
  {
    if (warn)
      warn(shownEntry(map, entry) + ": " + line);
  }

  template <class T>
  T inBounds(T value) const
  {
    if (static_cast<double>(value) < row.minimum)
      fail("is too small");
    if (static_cast<double>(value) > row.maximum)
      fail("is too large");
    return value;
  }
};

double readReal(const Reading& reading)
{
  const auto value = parseReal(reading.text);
  if (!value) {
    char* end = nullptr;
    const bool isNumber = !std::isfinite(std::strtod(reading.text.c_str(), &end)) && *end == '\0';
    reading.fail(isNumber ? "is not a finite number" : "is not a number");
  }
  return reading.inBounds(*value);
}

std::int64_t readInteger(const Reading& reading)
{
  const auto value = parseInteger(reading.text);
  if (!value)
    reading.fail(parseReal(reading.text) ? "is not a whole number" : "is not a number");
  if (reading.text.find_first_of("eE") != std::string::npos)
    reading.report(inQuotes(reading.text) + " is read as " + std::to_string(*value)
                   + "; elastix 5.0 stops at the letter and takes what stands before it.");
  return reading.inBounds(*value);
}

bool readBoolean(const Reading& reading)
{
  if (reading.text == "true")
    return true;
  if (reading.text == "false")
    return false;
  const std::string lower = lowerCase(trimmed(reading.text));
  const bool almost = lower == "true" || lower == "false";
  reading.fail("is neither true nor false",
               almost ? "Write " + inQuotes(lower) + ", in lower case and without blanks. " : "");
}

std::string readText(const Reading& reading)
{
  std::string value(trimmed(reading.text));
  if (value.size() != reading.text.size())
    reading.report("the blanks inside the quotes are ignored, it is read as " + inQuotes(value)
                   + ". elastix keeps them: for it this is another, unknown value, and most parameters then "
                     "silently take their default.");
  const auto& choices = reading.row.choices;
  if (!choices.empty() && std::find(choices.begin(), choices.end(), value) == choices.end()) {
    const std::string near = nearestName(value, choices);
    reading.fail("is not a choice", near.empty() ? "" : "Did you mean " + inQuotes(near) + "? ");
  }
  return value;
}

}

std::string realText(double value)
{
  std::array<char, 64> buffer;
  const double size = std::fabs(value);
  const bool plain = size == 0 || (size >= 1e-4 && size < 1e9);
  const auto end =
      plain ? std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed)
            : std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), end.ptr);
}

std::string_view trimmed(std::string_view text)
{
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::optional<double> parseReal(std::string_view text)
{
  text = trimmed(text);
  if (text.starts_with('+') && !text.starts_with("+-"))
    text.remove_prefix(1);
  double value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec == std::errc::invalid_argument || end.ptr != text.data() + text.size())
    return std::nullopt;
  if (end.ec == std::errc::result_out_of_range)
    value = std::strtod(std::string(text).c_str(), nullptr); // from_chars does not tell tiny from huge
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::optional<std::int64_t> parseInteger(std::string_view text)
{
  text = trimmed(text);
  std::string_view digits = text;
  if (digits.starts_with('+') && !digits.starts_with("+-"))
    digits.remove_prefix(1);
  if (const auto whole = numberIn<std::int64_t>(digits))
    return whole;
  const auto real = parseReal(text);
  if (!real || *real != std::floor(*real) || std::fabs(*real) > largestExactInteger)
    return std::nullopt;
  return static_cast<std::int64_t>(*real);
}

std::string shownEntry(const ParameterMap& map, const ParameterEntry& entry)
{
  std::string text = map.where(entry) + ": (" + entry.name;
  const std::size_t shown = std::min(entry.values.size(), shownValues);
  for (std::size_t i = 0; i < shown; ++i)
    text += " " + (parseReal(entry.values[i]) ? entry.values[i] : inQuotes(entry.values[i]));
  if (shown < entry.values.size())
    text += " ..., " + std::to_string(entry.values.size()) + " values";
  return text + ")";
}

void failUsage(const std::string& where, const std::string& wrong, const std::string& allowed)
{
  std::string message = where + ": " + wrong + ". " + allowed;
  if (!message.ends_with('.') && !message.ends_with('?'))
    message += ".";
  throw Error(ExitCode::usage, message);
}

template <class T>
T readValue(const ParameterInfo& row, const ParameterMap& map, const ParameterEntry& entry, std::size_t index,
            const std::function<void(const std::string&)>& warn)
{
  const Reading reading{row, map, entry, entry.values.at(index), warn};
  if constexpr (std::is_same_v<T, double>)
    return readReal(reading);
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return readInteger(reading);
  else if constexpr (std::is_same_v<T, bool>)
    return readBoolean(reading);
  else
    return readText(reading);
}

using Warn = std::function<void(const std::string&)>;
template double readValue(const ParameterInfo&, const ParameterMap&, const ParameterEntry&, std::size_t,
                          const Warn&);
template std::int64_t readValue(const ParameterInfo&, const ParameterMap&, const ParameterEntry&, std::size_t,
                                const Warn&);
template bool readValue(const ParameterInfo&, const ParameterMap&, const ParameterEntry&, std::size_t,
                        const Warn&);
template std::string readValue(const ParameterInfo&, const ParameterMap&, const ParameterEntry&, std::size_t,
                               const Warn&);

}
