#pragma once

#include "Core/Compute/Files/ScratchFolder.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tessera {

/// Files that appear under their names only when they are whole. They are written to a hidden folder beside
/// their place and moved from there; unless commit() is reached, nothing is left.
class AtomicFile {
public:
  /// Throws Error(unwritableOutput) if the folder of `path` is missing or cannot be written to.
  explicit AtomicFile(const std::string& path);

  /// Where to write: the same file name in the hidden folder. Further files may be written beside it.
  const std::string& temporaryPath() const { return temporaryPath_; }

  /// Moves everything beside the file first and the file itself last; replaces what is there.
  void commit();

  /// Throws Error(unwritableOutput) unless a file of `byteCount` bytes has room now.
  void checkRoom(std::size_t byteCount) const;

  /// Throws Error(unwritableOutput) `path: <wrong>. Allowed: ...` and says how much room is left.
  [[noreturn]] void fail(const std::string& wrong) const;

private:
  std::string path_, folder_, temporaryPath_;
  std::optional<ScratchFolder> hidden_; // there once the folder is known to be one
};

/// Writes a whole text file or none. Throws Error(unwritableOutput).
void writeTextFile(const std::string& path, std::string_view text);

}
