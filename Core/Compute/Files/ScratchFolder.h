#pragma once

#include <mutex>
#include <string>

namespace tessera {

/// A new folder, which is removed with its contents when the object is destroyed.
class ScratchFolder {
public:
  /// Makes a folder in `parent` whose name begins with `prefix`. Throws std::system_error.
  ScratchFolder(const std::string& parent, const std::string& prefix);
  /// Makes it in the system's folder for temporary files.
  explicit ScratchFolder(const std::string& prefix);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  /// Removes all folders, before the program ends without ending its threads. Any other thread that makes or
  /// removes a folder afterwards waits for ever.
  static void removeAll();
  /// Removes all folders without taking memory, for a program that cannot go on. Does nothing if a thread
  /// makes or removes one at the moment. Folders inside of them stay.
  static void removeAllIfFree() noexcept;
  /// While the returned lock is held, removeAll() waits.
  static std::unique_lock<std::recursive_mutex> holdAll();

  /// Removes folders of this kind that a process which was killed has left in `parent`.
  static void removeAbandoned(const std::string& parent, const std::string& prefix);

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

private:
  std::string path_;
  int lock_ = -1; // descriptor of the folder, locked as long as this process lives
};

}
