#include "Core/Compute/Files/FolderLock.h"

#include "Core/Compute/Error.h"

#include <cerrno>
#include <thread>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace tessera {

LockResult lockDescriptor(int descriptor, LockKind kind, std::chrono::milliseconds patience)
{
  const auto end = std::chrono::steady_clock::now() + patience;
  while (flock(descriptor, (kind == LockKind::exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return LockResult::unsupported;
    if (std::chrono::steady_clock::now() >= end)
      return LockResult::busy;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return LockResult::locked;
}

void failBusyFolder(const std::string& folder)
{
  failAs(ExitCode::unwritableOutput, "-out", "\"" + folder + "\": another run writes to this folder now",
         "a folder for each run, or to start this one when the other has ended");
}

FolderLock::FolderLock(const std::string& folder)
    : descriptor_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC))
{
  if (descriptor_ < 0 || lockDescriptor(descriptor_, LockKind::exclusive) != LockResult::busy)
    return;
  close(descriptor_);
  failBusyFolder(folder);
}

FolderLock::~FolderLock()
{
  if (descriptor_ >= 0)
    close(descriptor_);
}

}
