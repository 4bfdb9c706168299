#pragma once

#include <chrono>
#include <string>

namespace tessera {

enum class LockKind { exclusive, shared };

/// The outcome of lockDescriptor(). `busy`: another process has the lock. `unsupported`: the file system has
/// no locks.
enum class LockResult { locked, busy, unsupported };

/// How long a lock may be waited for: a process that was killed holds its locks until its memory is freed.
inline constexpr std::chrono::milliseconds lockPatience{2000};

/// Locks an open file or folder by flock(2) until its descriptor is closed, at the latest at the end of the
/// process. The kind of a lock that this descriptor has already is changed.
LockResult lockDescriptor(int descriptor, LockKind, std::chrono::milliseconds patience = lockPatience);

/// Throws Error(unwritableOutput): another run writes to the folder.
[[noreturn]] void failBusyFolder(const std::string& folder);

/// An exclusive lock of a folder for as long as the object lives. NFS cannot lock folders, only files.
class FolderLock {
public:
  /// Throws Error(unwritableOutput) if another process has the lock.
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

private:
  int descriptor_;
};

}
