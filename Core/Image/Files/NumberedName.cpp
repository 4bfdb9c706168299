#include "Core/Image/Files/NumberedName.h"

#include <cstdlib>

namespace tessera {

NumberedName::NumberedName(const std::string& pattern)
{
  const std::size_t percent = pattern.find('%');
  if (percent == std::string::npos)
    return;
  const std::size_t letter = pattern.find_first_not_of("0123456789", percent + 1);
  constexpr std::size_t maxDigits = 3; // of the width: no file name has 1000 letters
  isNumbered_ = letter != std::string::npos && pattern[letter] == 'd' && letter - percent - 1 <= maxDigits;
  if (!isNumbered_)
    return;
  before_ = pattern.substr(0, percent);
  behind_ = pattern.substr(letter + 1);
  width_ = std::strtoul(pattern.c_str() + percent + 1, nullptr, 10);
  filling_ = pattern[percent + 1] == '0' ? '0' : ' ';
}

std::string NumberedName::operator()(long number) const
{
  const std::string digits = std::to_string(number);
  return before_ + std::string(digits.size() < width_ ? width_ - digits.size() : 0, filling_) + digits
         + behind_;
}

}
