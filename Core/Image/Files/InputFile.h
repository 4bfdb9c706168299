#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tessera {

/// A file that is read at any place, by several threads at once. `name` stands for it in messages.
class InputFile {
public:
  /// Throws Error(unreadableInput) if it cannot be opened.
  InputFile(const std::string& path, const std::string& name);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Fewer bytes at the end of the file. Throws Error(unreadableInput).
  std::size_t read(std::uint64_t position, void* bytes, std::size_t count) const;

private:
  std::string name_;
  int file_;
};

}
