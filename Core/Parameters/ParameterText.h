#pragma once

#include "Core/Parameters/ParameterInfo.h"
#include "Core/Parameters/ParameterMap.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

/// The shortest decimal text that reads back as the same number; plain notation for everyday sizes.
std::string realText(double value);

/// Nothing unless the whole text is one finite number. Blanks around it are ignored, and a leading + is
/// allowed.
std::optional<double> parseReal(std::string_view text);

/// The same for whole numbers; "6.000000" and "2e3" are whole.
std::optional<std::int64_t> parseInteger(std::string_view text);

/// The text without blanks at both ends.
std::string_view trimmed(std::string_view text);

/// `file:line: (Name value "value" ...)`, where long lists are shortened.
std::string shownEntry(const ParameterMap& map, const ParameterEntry& entry);

/// Throws Error(usage) `where: wrong. allowed.`
[[noreturn]] void failUsage(const std::string& where, const std::string& wrong, const std::string& allowed);

/// Value `index` of `entry` in the type of the row; T: double, std::int64_t, bool, std::string.
/// Throws Error(usage) if it is of another type, out of bounds or not a choice. `warn` may be empty.
template <class T>
T readValue(const ParameterInfo& row, const ParameterMap& map, const ParameterEntry& entry, std::size_t index,
            const std::function<void(const std::string&)>& warn);

/// The candidate nearest to `name` by edit distance, or empty if none is near.
/// A whole capitalised word more or less counts as two letters: "Sampler" is nearer to "ImageSampler" than to
/// "Resampler".
std::string nearestName(const std::string& name, const std::vector<std::string>& candidates);

/// Tells what to write in place of a quote, dash or no-break blank of a word processor: "Write - in place of
/// –". Empty for a text without one.
std::string hintOfWordProcessor(std::string_view text);

/// ` Did you mean "X"?`, or empty if no candidate is near.
std::string didYouMean(const std::string& name, const std::vector<std::string>& candidates);

}
