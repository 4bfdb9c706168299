#pragma once

#include "Core/Compute/Files/ScratchFolder.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

/// Whether a file's content waits to be on the disk before it takes its name, so that a failure of power
/// leaves no file that is cut or empty. That takes 1 to 30 ms, and longer on a busy disk. `no` is for files
/// that only say how a run went.
enum class Sync { yes, no };

/// Files that appear under their names only when they are complete. They are written to a hidden folder
/// beside their place and moved from there. Unless commit() is reached, nothing of them is left.
class AtomicFile {
public:
  /// Throws Error(unwritableOutput) if the folder of `path` is missing or cannot be written to, and
  /// Error(usage) if the name is longer than a file system takes.
  explicit AtomicFile(const std::string& path);

  const std::string& path() const { return path_; } // where it will appear
  /// The path to write to: the same file name in the hidden folder. Further files may be written beside it.
  const std::string& temporaryPath() const { return temporaryPath_; }

  /// Brings the files to the disk, moves the further ones first and the file itself last, and replaces
  /// existing ones. A program that is killed in between leaves no header beside the data of another. After a
  /// failure of power the folder may hold what it held before.
  void commit(Sync = Sync::yes);

  /// Removes what programs that were killed have left in an output folder. The first file of this process in
  /// a folder does so, too.
  static void removeAbandoned(const std::string& folder) { ScratchFolder::removeAbandoned(folder, prefix); }

  /// Throws Error(unwritableOutput) unless a file of `byteCount` bytes has room.
  void checkRoom(std::size_t byteCount) const;

  /// Throws Error(unwritableOutput) `path: <wrong>. Allowed: ...`, or outOfMemory if no file can be opened.
  [[noreturn]] void fail(const std::string& wrong) const;

private:
  static constexpr const char* prefix = ".tessera-partial-";

  std::string path_, folder_, temporaryPath_;
  std::optional<ScratchFolder> hidden_; // empty until the path's folder is known to exist
};

/// Writes a complete text file or none. Throws Error(unwritableOutput).
void writeTextFile(const std::string& path, std::string_view text, Sync = Sync::yes);
/// Writes the pieces of a text one after the other, and otherwise does the same.
void writeTextFile(const std::string& path, const std::vector<std::string>& pieces, Sync = Sync::yes);

}
