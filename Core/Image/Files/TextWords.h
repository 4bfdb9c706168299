#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera {

/// Throws Error(unreadableInput) if the file does not exist or cannot be read.
std::string readWholeFile(const std::string& path);

/// The words of a text one after the other; failures name file and line.
class TextWords {
public:
  /// `allowed` says in failures what the file should be.
  TextWords(std::string path, std::string text, std::string allowed)
      : path_(std::move(path)), text_(std::move(text)), allowed_(std::move(allowed))
  {
  }

  /// The next word, empty at the end; it stays the next one.
  std::string_view peek();
  /// The next word; fails at the end, where `expected` was wanted.
  std::string_view next(std::string_view expected);
  /// A finite number.
  double nextNumber(std::string_view expected);
  /// A whole number, not negative.
  std::size_t nextCount(std::string_view expected);

  /// The rest of the current line, without its end; moves to the next line.
  std::string_view restOfLine();
  /// The bytes that follow.
  std::string_view rest() const { return std::string_view(text_).substr(position_); }
  void skip(std::size_t bytes) { position_ += bytes; }

  /// Throws Error(unreadableInput) `path:line: <wrong>. Allowed: ...` for the line of the last word.
  [[noreturn]] void fail(const std::string& wrong) const;

private:
  void skipSpace();

  std::string path_, text_, allowed_;
  std::size_t position_ = 0, line_ = 1;
};

}
