#include "Core/Compute/Files/ScratchFolder.h"

#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>

#include <stdlib.h>

namespace tessera {

namespace fs = std::filesystem;

namespace {

/// The scratch folders that exist.
struct Folders {
  std::mutex mutex;
  std::set<std::string> paths;
};

Folders& folders()
{
  // Never destroyed, so that it outlives objects that are destroyed at exit.
  static Folders& folders = *new Folders;
  return folders;
}

}

ScratchFolder::ScratchFolder(const std::string& parent, const std::string& prefix)
    : path_((fs::path(parent) / (prefix + "XXXXXX")).string())
{
  const std::lock_guard lock(folders().mutex);
  if (!mkdtemp(path_.data()))
    throw std::system_error(errno, std::generic_category(), parent);
  folders().paths.insert(path_);
}

ScratchFolder::ScratchFolder(const std::string& prefix)
    : ScratchFolder(fs::temp_directory_path().string(), prefix)
{
}

ScratchFolder::~ScratchFolder()
{
  const std::lock_guard lock(folders().mutex);
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  folders().paths.erase(path_);
}

std::unique_lock<std::mutex> ScratchFolder::holdAll()
{
  return std::unique_lock(folders().mutex);
}

void ScratchFolder::removeAll()
{
  holdAll().release(); // locked until the process ends
  std::error_code ignored;
  for (const std::string& path : folders().paths)
    fs::remove_all(path, ignored);
}

}
