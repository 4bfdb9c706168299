#pragma once

#include <string>
#include <string_view>

namespace tessera {

/// The lower-case letter; only ASCII letters change, whatever the locale.
constexpr char lowerLetter(char letter)
{
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

inline std::string lowerCase(std::string_view text)
{
  std::string lower(text);
  for (char& letter : lower)
    letter = lowerLetter(letter);
  return lower;
}

}
