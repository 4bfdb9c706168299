#pragma once

#include "Core/Compute/Threads/Parallel.h"
#include "Core/Sparse/Array.h"

#include <charconv>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// A text file in memory, inflated if it was a gzip file.
struct TextInput {
  std::string path; // for messages; "stdin" if the given path was "-"
  Array<char> bytes;

  std::string_view text() const { return {bytes.data(), bytes.size()}; }
  /// Throws Error(unreadableInput) `path:7: "the line": wrong. Allowed: allowed.` for the line that `at`
  /// points into.
  [[noreturn]] void failAt(const char* at, const std::string& wrong, const std::string& allowed) const;
  /// Throws Error(unreadableInput) without naming a line.
  [[noreturn]] void fail(const std::string& wrong, const std::string& allowed) const;
};

/// The most bytes that a text may have whose first lines are given; empty if these do not tell it yet.
/// Throws Error(unreadableInput) for lines that are wrong.
using BytesByHead = std::function<std::optional<double>(const TextInput& firstLines)>;
/// More than a number takes in a text, with the blanks around it.
constexpr double textBytesANumber = 64;

/// Maps a file or, for "-", reads standard input, and inflates gzip data. Throws Error(unreadableInput), also
/// for gzip data that inflate to more than their head tells or, without `mostBytes`, to far more than such
/// texts do.
TextInput readText(const std::string& path, const BytesByHead& mostBytes = {});

/// An error in the line that `at` points into. forEachPiece and parseLines turn it into an Error.
struct LineError {
  const char* at;
  std::string wrong, allowed;
};

/// Splits one line into words.
class LineWords {
public:
  LineWords(const char* first, const char* last) : at_(first), last_(last) { skipBlanks(); }

  bool atEnd() const { return at_ == last_; }
  const char* at() const { return at_; }
  char peek() const { return *at_; }

  /// The next word as a whole number. Throws LineError, with `what` and the range in its text, if there is no
  /// word or it is no whole number from `least` to `most`.
  std::uint64_t index(const char* what, std::uint64_t least, std::uint64_t most);
  /// The next word as a number of type V; floating types accept "nan" and "inf". Throws LineError otherwise.
  template <class V>
  V number(const char* what);
  std::string_view word();
  /// Throws LineError if further words follow; `expected` says which words the line should have.
  void end(const char* expected) const;

private:
  void skipBlanks()
  {
    while (at_ != last_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r'))
      ++at_;
  }
  const char* wordEnd() const
  {
    const char* end = at_;
    while (end != last_ && *end != ' ' && *end != '\t' && *end != '\r')
      ++end;
    return end;
  }
  [[noreturn]] void failIndex(const char* what, std::uint64_t least, std::uint64_t most) const;
  [[noreturn]] void failNumber(const char* what, bool integer, bool outOfRange) const;

  const char *at_, *last_;
};

inline std::uint64_t LineWords::index(const char* what, std::uint64_t least, std::uint64_t most)
{
  std::uint64_t value = 0;
  const std::from_chars_result result = std::from_chars(at_, last_, value);
  const bool ended = result.ptr == last_ || *result.ptr == ' ' || *result.ptr == '\t' || *result.ptr == '\r';
  if (result.ec != std::errc() || !ended || value < least || value > most)
    failIndex(what, least, most);
  at_ = result.ptr;
  skipBlanks();
  return value;
}

template <class V>
V LineWords::number(const char* what)
{
  V value{};
  const bool plus = last_ - at_ > 1 && *at_ == '+' && at_[1] != '-';
  const char* const start = plus ? at_ + 1 : at_;
  const std::from_chars_result result = std::from_chars(start, last_, value);
  const bool ended = result.ptr == last_ || *result.ptr == ' ' || *result.ptr == '\t' || *result.ptr == '\r';
  if (result.ec != std::errc() || !ended)
    failNumber(what, std::is_integral_v<V>, result.ec == std::errc::result_out_of_range);
  at_ = result.ptr;
  skipBlanks();
  return value;
}

/// The line that begins at `position`, without its end. Moves `position` to the line behind it.
std::string_view nextLine(std::string_view text, std::size_t& position);

/// Calls work(piece) for each of `pieces` parts of the text, by several threads. If calls throw LineErrors,
/// that of the first piece is reported as Error(unreadableInput).
template <class Work>
void forEachPiece(const Context& context, const TextInput& input, std::size_t pieces, Work&& work)
{
  std::vector<std::optional<LineError>> errors(pieces);
  forEachChunk(context, pieces, [&](std::size_t piece) {
    try {
      work(piece);
    } catch (const LineError& error) {
      errors[piece] = error;
    }
  });
  for (const std::optional<LineError>& error : errors)
    if (error)
      input.failAt(error->at, error->wrong, error->allowed);
}

/// Parses the lines from byte `from` on, by several threads. Calls line(words, block) for each line that is
/// not blank. Every piece of about 1 MiB fills a Block of its own; the blocks are returned in the order of
/// the text. The first LineError of the text is reported as Error(unreadableInput).
template <class Block, class Line>
std::vector<Block> parseLines(const Context& context, const TextInput& input, std::size_t from, Line&& line)
{
  constexpr std::size_t pieceBytes = 1 << 20;
  const std::string_view text = input.text().substr(from);
  const auto lineStart = [&](std::size_t position) { // the first line that begins at `position` or later
    if (position == 0 || position >= text.size())
      return std::min(position, text.size());
    const void* const found = std::memchr(text.data() + position - 1, '\n', text.size() - position + 1);
    return found ? static_cast<std::size_t>(static_cast<const char*>(found) - text.data()) + 1 : text.size();
  };
  const std::size_t pieces = (text.size() + pieceBytes - 1) / pieceBytes;
  std::vector<Block> blocks(pieces);
  forEachPiece(context, input, pieces, [&](std::size_t piece) {
    const char* at = text.data() + lineStart(piece * pieceBytes);
    const char* const last = text.data() + lineStart((piece + 1) * pieceBytes);
    while (at < last) {
      const void* const found = std::memchr(at, '\n', static_cast<std::size_t>(last - at));
      const char* const end = found ? static_cast<const char*>(found) : last;
      LineWords words(at, end);
      if (!words.atEnd())
        line(words, blocks[piece]);
      at = end + 1;
    }
  });
  return blocks;
}

}
