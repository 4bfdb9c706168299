#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace tessera {

// Words and numbers of image files that are text.

inline std::vector<std::string> wordsOf(const std::string& text)
{
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;)
    words.push_back(word);
  return words;
}

/// A whole number without anything before or behind it.
inline std::optional<std::int64_t> wholeNumber(const std::string& text)
{
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// How many numbers a file holds from byte `from` on, one after the other as text. Counts up to `enough`.
inline std::uint64_t countTextNumbers(const std::string& path, std::uint64_t from, std::uint64_t enough)
{
  std::ifstream stream(path, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(from));
  std::uint64_t count = 0;
  for (std::string word; count < enough && stream >> word; ++count) {
    char* end = nullptr;
    std::strtod(word.c_str(), &end);
    if (*end != '\0')
      break;
  }
  return count;
}

}
