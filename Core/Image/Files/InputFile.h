#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tessera {

/// A file that several threads can read at any position. Messages call it `name`.
class InputFile {
public:
  /// Throws Error(unreadableInput) if it cannot be opened.
  InputFile(const std::string& path, const std::string& name);
  InputFile(const std::string& path) : InputFile(path, path) {}
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Reads up to `count` bytes and returns how many there were: fewer at the end of the file. Throws
  /// Error(unreadableInput).
  std::size_t read(std::uint64_t position, void* bytes, std::size_t count) const;
  std::string text(std::uint64_t position, std::size_t count) const;

  std::uint64_t size() const;
  const std::string& name() const { return name_; }

private:
  std::string name_;
  int file_;
};

}
