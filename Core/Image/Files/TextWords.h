#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera {

/// Returns the content of a file. Throws Error(unreadableInput) if it does not exist or cannot be read.
std::string readWholeFile(const std::string& path);

/// Returns the content of a file of text without a byte order mark of UTF-8. Throws Error(unreadableInput) if
/// it does not exist, cannot be read, or holds bytes of value 0, as UTF-16 does.
std::string readPlainText(const std::string& path);

/// Reads the words of a text in order. Errors have file and line.
class TextWords {
public:
  /// `allowed` is the end of each error: a description of a right file.
  TextWords(std::string path, std::string text, std::string allowed)
      : path_(std::move(path)), text_(std::move(text)), allowed_(std::move(allowed))
  {
  }

  /// The next word without reading on; empty at the end.
  std::string_view peek();
  /// Reads the next word. Fails at the end of the text with the message that `expected` is missing.
  std::string_view next(std::string_view expected);
  /// Reads a finite number.
  double nextNumber(std::string_view expected);
  /// Reads a whole number from 0.
  std::size_t nextCount(std::string_view expected);

  /// Reads the rest of the current line without its end.
  std::string_view restOfLine();
  /// Reads the next bytes.
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
