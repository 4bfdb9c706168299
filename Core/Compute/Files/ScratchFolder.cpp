#include "Core/Compute/Files/ScratchFolder.h"

#include <cerrno>
#include <ctime>
#include <filesystem>
#include <new>
#include <set>
#include <system_error>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera {

namespace fs = std::filesystem;

namespace {

/// The scratch folders that exist.
struct Folders {
  std::recursive_mutex mutex; // so that the thread of removeAll() can write a last file
  std::set<std::string> paths;
};

Folders& folders()
{
  // Never destroyed, so that it outlives objects that are destroyed at exit.
  static Folders& folders = *new Folders;
  return folders;
}

/// Never throws: destructors call it. Without memory, which the standard library tells in two ways, it tries
/// a second time. An empty folder needs not be opened.
void removeWhole(const std::string& path) noexcept
{
  if (rmdir(path.c_str()) == 0)
    return;
  for (int attempt = 0; attempt < 2; ++attempt)
    try {
      std::error_code failure;
      fs::remove_all(path, failure);
      if (!failure)
        return;
    } catch (const std::bad_alloc&) {
    }
}

}

ScratchFolder::ScratchFolder(const std::string& parent, const std::string& prefix)
    : path_((fs::path(parent) / (prefix + "XXXXXX")).string())
{
  const std::lock_guard lock(folders().mutex);
  if (!mkdtemp(path_.data()))
    throw std::system_error(errno, std::generic_category(), parent);
  lock_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ >= 0)
    flock(lock_, LOCK_SH | LOCK_NB);
  try {
    folders().paths.insert(path_);
  } catch (...) {
    rmdir(path_.c_str());
    if (lock_ >= 0)
      close(lock_);
    throw;
  }
}

ScratchFolder::ScratchFolder(const std::string& prefix)
    : ScratchFolder(fs::temp_directory_path().string(), prefix)
{
}

ScratchFolder::~ScratchFolder()
{
  const std::lock_guard lock(folders().mutex);
  if (lock_ >= 0)
    close(lock_); // first, because a folder is opened to be emptied, and no more files may be allowed
  removeWhole(path_);
  folders().paths.erase(path_);
}

void ScratchFolder::removeAbandoned(const std::string& parent, const std::string& prefix)
{
  const std::time_t oldest = std::time(nullptr) - 60; // a folder is locked soon after it is made
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    struct stat status {};
    if (!entry.path().filename().string().starts_with(prefix) || lstat(entry.path().c_str(), &status) != 0
        || !S_ISDIR(status.st_mode) || status.st_mtime > oldest)
      continue;
    const int folder = open(entry.path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder < 0)
      continue;
    if (flock(folder, LOCK_EX | LOCK_NB) == 0)
      removeWhole(entry.path().string());
    close(folder);
  }
}

std::unique_lock<std::recursive_mutex> ScratchFolder::holdAll()
{
  return std::unique_lock(folders().mutex);
}

void ScratchFolder::removeAllIfFree()
{
  if (std::unique_lock(folders().mutex, std::try_to_lock).owns_lock())
    for (const std::string& path : folders().paths)
      removeWhole(path);
}

void ScratchFolder::removeAll()
{
  holdAll().release(); // locked until the process ends
  for (const std::string& path : folders().paths)
    removeWhole(path);
}

}
