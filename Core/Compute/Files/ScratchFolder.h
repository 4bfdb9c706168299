#pragma once

#include <mutex>
#include <string>

namespace tessera {

/// A new folder that is gone with the object, and all that lies in it.
class ScratchFolder {
public:
  /// A name in `parent` that begins with `prefix`. Throws std::system_error.
  ScratchFolder(const std::string& parent, const std::string& prefix);
  /// In the system's folder for temporary files.
  explicit ScratchFolder(const std::string& prefix);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  /// Before the program ends without ending its threads: no folder is left, and whoever makes or leaves
  /// another waits for ever.
  static void removeAll();
  /// While this is held, removeAll() waits.
  static std::unique_lock<std::mutex> holdAll();

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

private:
  std::string path_;
};

}
