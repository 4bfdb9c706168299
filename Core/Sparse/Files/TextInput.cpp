#include "Core/Sparse/Files/TextInput.h"

#include "Core/Compute/Error.h"
#include "Core/Sparse/Files/Deflate.h"

#include <algorithm>
#include <cerrno>

#include <unistd.h>

namespace tessera {
namespace {

constexpr std::size_t shownBytes = 60;

/// The beginning of a line in quotation marks, for messages; control characters become question marks.
std::string shown(std::string_view line)
{
  std::string text = "\"";
  for (const char c : line.substr(0, shownBytes))
    text += static_cast<unsigned char>(c) >= 32 && c != 127 ? c : '?';
  return text + (line.size() > shownBytes ? "...\"" : "\"");
}

Array<char> readStandardInput()
{
  Array<char> bytes(std::size_t(1) << 20);
  std::size_t size = 0;
  while (true) {
    if (size == bytes.size()) {
      Array<char> larger(2 * size);
      std::memcpy(larger.data(), bytes.data(), size);
      bytes = larger;
    }
    const ssize_t got = read(STDIN_FILENO, bytes.data() + size, bytes.size() - size);
    if (got < 0)
      failAs(ExitCode::unreadableInput, "stdin", "cannot be read (" + std::string(std::strerror(errno)) + ")",
             "a matrix in Matrix Market format");
    if (got == 0)
      break;
    size += static_cast<std::size_t>(got);
  }
  bytes.truncate(size);
  return bytes;
}

}

void TextInput::failAt(const char* at, const std::string& wrong, const std::string& allowed) const
{
  const std::string_view all = text();
  const std::size_t offset = std::min(static_cast<std::size_t>(at - all.data()), all.size());
  const std::size_t before = offset == 0 ? std::string_view::npos : all.rfind('\n', offset - 1);
  const std::size_t first = before == std::string_view::npos ? 0 : before + 1;
  const std::size_t end = std::min(all.find('\n', first), all.size());
  const auto number = 1 + std::count(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first), '\n');
  std::string_view line = all.substr(first, end - first);
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  failAs(ExitCode::unreadableInput, path + ":" + std::to_string(number), shown(line) + ": " + wrong, allowed);
}

void TextInput::fail(const std::string& wrong, const std::string& allowed) const
{
  failAs(ExitCode::unreadableInput, path, wrong, allowed);
}

TextInput readText(const std::string& path, const BytesByHead& mostBytes)
{
  TextInput input;
  input.path = path == "-" ? "stdin" : path;
  if (path == "-") {
    input.bytes = readStandardInput();
  } else {
    const auto block = std::make_shared<MemoryBlock>(path);
    input.bytes = Array<char>(block, 0, block->bytes());
  }
  if (input.bytes.empty())
    input.fail("there is nothing in it", "a matrix");
  if (!isGzip(input.text()))
    return input;
  input.bytes = inflatedGzip(input.text(), input.path, [&](std::string_view first) -> std::optional<double> {
    constexpr double largestRatio = 64; // lines that all differ are compressed to no less than a tenth
    if (!mostBytes)
      return freeTextBytes + largestRatio * static_cast<double>(input.bytes.size());
    first = first.substr(0, first.rfind('\n') + 1);
    return mostBytes({input.path, std::vector<char>(first.begin(), first.end())});
  });
  return input;
}

void LineWords::failIndex(const char* what, std::uint64_t least, std::uint64_t most) const
{
  const std::string range =
      most < least ? "nothing: there is none"
                   : "whole numbers from " + std::to_string(least) + " to " + std::to_string(most);
  if (at_ == last_)
    throw LineError{at_, std::string("the line ends where ") + what + " should stand", range};
  throw LineError{at_, shown({at_, wordEnd()}) + " is no " + what, range};
}

void LineWords::failNumber(const char* what, bool integer, bool outOfRange) const
{
  const std::string allowed =
      integer ? "whole numbers of 64 bits" : "numbers such as -1.5e-3 in the range of double precision";
  if (at_ == last_)
    throw LineError{at_, std::string("the line ends where ") + what + " should stand", allowed};
  throw LineError{at_, shown({at_, wordEnd()}) + (outOfRange ? " is out of range for " : " is no ") + what,
                  allowed};
}

std::string_view LineWords::word()
{
  const char* const first = at_;
  at_ = wordEnd();
  const std::string_view word(first, static_cast<std::size_t>(at_ - first));
  skipBlanks();
  return word;
}

void LineWords::end(const char* expected) const
{
  if (at_ != last_)
    throw LineError{at_, shown({at_, wordEnd()}) + " is too much", expected};
}

std::string_view nextLine(std::string_view text, std::size_t& position)
{
  const std::size_t end = std::min(text.find('\n', position), text.size());
  const std::string_view line = text.substr(position, end - position);
  position = std::min(end + 1, text.size());
  return line;
}

}
