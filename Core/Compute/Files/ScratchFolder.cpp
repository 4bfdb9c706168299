#include "Core/Compute/Files/ScratchFolder.h"

#include <array>
#include <cerrno>
#include <filesystem>
#include <new>
#include <set>
#include <system_error>

#include <dirent.h>
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

/// Removes a folder that holds files alone. Takes no memory.
bool removeWithFiles(const char* path) noexcept
{
  if (rmdir(path) == 0)
    return true;
  const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (folder < 0)
    return false;
  alignas(dirent64) std::array<char, 4096> bytes;
  for (ssize_t count; (count = getdents64(folder, bytes.data(), bytes.size())) > 0;)
    for (ssize_t at = 0; at < count;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(bytes.data() + at);
      unlinkat(folder, entry->d_name, 0); // the folder's own names, . and .., are refused
      at += entry->d_reclen;
    }
  close(folder);
  return rmdir(path) == 0;
}

/// Opens a folder that was made just now, and locks it where the file system can. A negative number if
/// another process removes it. Throws std::system_error, and removes it, if it cannot be opened.
int openLocked(const std::string& path)
{
  const int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 && errno != ENOENT) {
    const int failure = errno;
    rmdir(path.c_str());
    throw std::system_error(failure, std::generic_category(), path);
  }
  struct stat status {};
  const bool isBusy = folder >= 0 && flock(folder, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (folder < 0 || (!isBusy && fstat(folder, &status) == 0 && status.st_nlink > 0))
    return folder;
  close(folder);
  return -1;
}

/// Never throws: destructors call it. Without memory, which the standard library tells in two ways, it tries
/// a second time.
void removeWhole(const std::string& path) noexcept
{
  if (removeWithFiles(path.c_str()))
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
{
  const std::lock_guard lock(folders().mutex);
  // Another process may take a folder for abandoned before it is locked, and remove it: then there is a next.
  while (lock_ < 0) {
    path_ = (fs::path(parent) / (prefix + "XXXXXX")).string();
    if (!mkdtemp(path_.data()))
      throw std::system_error(errno, std::generic_category(), parent);
    lock_ = openLocked(path_);
  }
  try {
    folders().paths.insert(path_);
  } catch (...) {
    rmdir(path_.c_str());
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
  close(lock_); // first, because a folder is opened to be emptied, and no more files may be allowed
  removeWhole(path_);
  folders().paths.erase(path_);
}

void ScratchFolder::removeAbandoned(const std::string& parent, const std::string& prefix)
{
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, ignored)) {
    struct stat status {};
    if (!entry.path().filename().string().starts_with(prefix) || lstat(entry.path().c_str(), &status) != 0
        || !S_ISDIR(status.st_mode))
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

void ScratchFolder::removeAllIfFree() noexcept
{
  if (folders().mutex.try_lock()) // until the process ends
    for (const std::string& path : folders().paths)
      removeWithFiles(path.c_str());
}

void ScratchFolder::removeAll()
{
  holdAll().release(); // locked until the process ends
  for (const std::string& path : folders().paths)
    removeWhole(path);
}

}
