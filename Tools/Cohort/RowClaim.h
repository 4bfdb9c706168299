#pragma once

#include <chrono>
#include <string>

namespace tessera {

/// Who works on a row: a file `.taken` in its folder, made with O_EXCL, which one process alone can make on
/// local disks and on NFS from version 3 on. It names the node, the boot of its system, the process and the
/// namespace of its number, and is touched while the row is worked on. A claim is free again if its process
/// is gone (same node, boot and namespace) or if it was not touched for some time, by the clock of the file
/// server.
class RowClaim {
public:
  /// `age` is after how long an untouched claim is free.
  RowClaim(std::string rowFolder, std::chrono::seconds age);

  /// Makes the folder and the claim. False if another process has it.
  bool take();
  /// Whether some process has it.
  bool isTaken() const;
  /// "process 12 on HOST", for messages.
  std::string ownerText() const;
  /// Says that the work goes on.
  void touch() const;
  void release() const;
  /// Removes what a process has left that ended between the record of the row and release().
  void releaseIfAbandoned() const;

private:
  bool create() const;
  bool isAbandoned() const;
  /// If several processes find a claim abandoned, one of them may remove it.
  bool removeAbandoned() const;

  std::string folder_, path_;
  std::chrono::seconds age_;
};

/// The time by the clock of the server that holds a folder, in seconds since 1970.
double fileServerSeconds(const std::string& folder);

}
