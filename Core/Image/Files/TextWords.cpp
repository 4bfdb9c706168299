#include "Core/Image/Files/TextWords.h"

#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/NumberIn.h"
#include "Core/Image/Files/InputError.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tessera {
namespace {

constexpr std::string_view space = " \t\r\n\f\v";

std::string quoted(std::string_view word)
{
  std::string text(1, '"');
  text.append(word).push_back('"');
  return text;
}

}

std::string readWholeFile(const std::string& path)
{
  TextFile file = readTextFile(path);
  if (!file.failure.empty())
    failToRead(path, file.failure, "a file that exists and may be read");
  return std::move(file.text);
}

std::string readPlainText(const std::string& path)
{
  std::string text = readWholeFile(path);
  if (text.starts_with("\xEF\xBB\xBF"))
    text.erase(0, 3); // a byte order mark, which programs of Windows write
  const bool isUtf16 = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
  const std::size_t zero = std::min(text.find('\0'), text.size());
  const auto fail = [&](std::size_t place, const std::string& wrong, const std::string& allowed) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(place);
    failToRead(path + ":" + std::to_string(1 + std::count(text.begin(), end, '\n')), wrong, allowed);
  };
  if (isUtf16)
    fail(0, "this is UTF-16, not plain text", "ASCII or UTF-8 text, as which editors can save it");
  if (zero < text.size())
    fail(zero, "a byte of value 0: this is not plain text", "ASCII or UTF-8 text");
  return text;
}

void TextWords::skipSpace()
{
  for (; position_ < text_.size() && space.find(text_[position_]) != std::string_view::npos; ++position_)
    line_ += text_[position_] == '\n';
}

std::string_view TextWords::peek()
{
  skipSpace();
  const std::size_t end = std::min(text_.find_first_of(space, position_), text_.size());
  return std::string_view(text_).substr(position_, end - position_);
}

std::string_view TextWords::next(std::string_view expected)
{
  const std::string_view word = peek();
  if (word.empty())
    fail("the file ends where " + std::string(expected) + " should stand");
  position_ += word.size();
  return word;
}

double TextWords::nextNumber(std::string_view expected)
{
  const std::string_view word = next(expected);
  const auto value = numberIn<double>(word.substr(word.starts_with('+')));
  if (!value || !std::isfinite(*value))
    fail(quoted(word) + " is no finite number, where " + std::string(expected) + " should stand");
  return *value;
}

std::size_t TextWords::nextCount(std::string_view expected)
{
  const std::string_view word = next(expected);
  const auto value = numberIn<std::size_t>(word);
  if (!value)
    fail(quoted(word) + " is no whole number, where " + std::string(expected) + " should stand");
  return *value;
}

std::string_view TextWords::restOfLine()
{
  const std::size_t end = std::min(text_.find('\n', position_), text_.size());
  std::string_view line = std::string_view(text_).substr(position_, end - position_);
  position_ = std::min(end + 1, text_.size());
  ++line_;
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  return line;
}

void TextWords::fail(const std::string& wrong) const
{
  failToRead(path_ + ":" + std::to_string(line_), wrong, allowed_);
}

}
