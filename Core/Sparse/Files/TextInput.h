#pragma once

#include "Core/Compute/Parallel.h"
#include "Core/Sparse/Array.h"

#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// A text file in memory, decompressed if it is a gzip file.
struct TextInput {
  std::string path; // for errors; "stdin" if it was "-"
  Array<char> bytes;

  std::string_view text() const { return {bytes.data(), bytes.size()}; }
  /// Throws Error(unreadableInput) `path:7: "the line": wrong. Allowed: allowed.` for the line in which `at`
  /// points.
  [[noreturn]] void failAt(const char* at, const std::string& wrong, const std::string& allowed) const;
  /// The same without a line.
  [[noreturn]] void fail(const std::string& wrong, const std::string& allowed) const;
};

/// Maps, decompresses or, for "-", reads from standard input. Throws Error(unreadableInput).
TextInput readText(const std::string& path);

/// What is wrong with the line that `at` points into; becomes TextInput::failAt.
struct LineError {
  const char* at;
  std::string wrong, allowed;
};

/// The words of one line.
class LineWords {
public:
  LineWords(const char* first, const char* last) : at_(first), last_(last) { skipBlanks(); }

  bool atEnd() const { return at_ == last_; }
  const char* at() const { return at_; }
  char peek() const { return *at_; }

  /// Throws LineError if the line ends, or the word is no whole number from `least` to `most`, both said in
  /// the error.
  std::uint64_t index(const char* what, std::uint64_t least, std::uint64_t most);
  /// A number of type V. Throws LineError; "nan" and "inf" are numbers if V is a floating type.
  template <class V>
  V number(const char* what);
  std::string_view word();
  /// Throws LineError if there are more words.
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

/// One after the other from `position` on: the line without its end, and the position behind it.
std::string_view nextLine(std::string_view text, std::size_t& position);

/// Calls work(piece) for each of `pieces` parts of the text, in parallel. Of several LineErrors that of the
/// first piece is thrown, as Error.
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

/// Calls line(words, block) for each line from byte `from` on that is not blank, in parallel; each piece of
/// whole lines fills a Block of its own, and these come back in the order of the text. Of several LineErrors
/// the first of the text is thrown, as Error.
template <class Block, class Line>
std::vector<Block> parseLines(const Context& context, const TextInput& input, std::size_t from, Line&& line)
{
  constexpr std::size_t pieceBytes = 1 << 20;
  const std::string_view text = input.text().substr(from);
  const auto lineStart = [&](std::size_t position) { // the first line that begins there or later
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
