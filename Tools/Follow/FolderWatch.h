#pragma once

#include "Core/Image/Files/ReadingOptions.h"
#include "Tools/Follow/Arrivals.h"

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <system_error>

namespace tessera {

class Log;

/// Finds images that come into a folder: files, and folders with slices. It looks every 20 ms, since the
/// system does not tell of files that other machines write, and is told of those that this one has closed or
/// moved there. Other images are complete once they can be read whole and were equal in two looks at least
/// 100 ms apart (folders: 2 s); one that cannot be read is told after 10 s without a change. An image that is
/// written again is a new one. A folder without slices is none.
class FolderWatch {
public:
  /// `existing`: which of the images that are there already count: newest, all or none. Throws
  /// Error(unreadableInput) if the folder cannot be read.
  FolderWatch(std::string folder, const std::string& existing, ReadingOptions, Log&);
  ~FolderWatch();
  FolderWatch(const FolderWatch&) = delete;
  FolderWatch& operator=(const FolderWatch&) = delete;

  /// Adds images in the order in which they are complete, until it or the program is to end.
  void watch(Arrivals&, const std::stop_token&);
  /// One look, waiting for at most 20 ms before it.
  void look(Arrivals&);

private:
  /// What tells one content of a file from another. Times are those of its file system alone.
  struct Content {
    std::uint64_t bytes = 0, files = 0, inode = 0;
    std::int64_t changedNs = 0;

    auto operator<=>(const Content&) const = default;
  };
  struct Seen {
    Content content;
    std::chrono::steady_clock::time_point since{}, triedAt{};
    bool isTold = false, isClosed = false;
  };

  void takeEvents(int milliseconds);
  Content contentOf(const std::string& path) const;
  bool isComplete(const std::string& path, Seen&) const;
  std::map<std::string, Content> list(std::error_code&) const; // images by name

  std::string folder_;
  ReadingOptions reading_;
  Log& log_;
  bool isReadable_ = true;
  std::map<std::string, Seen> seen_; // by name
  int events_ = -1;                  // of inotify; -1: there are none
};

}
