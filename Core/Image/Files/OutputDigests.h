#pragma once

#include <future>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace tessera {

/// How a file is read for its digest: on a thread of its own, or, where the process may open few files, when
/// the digest is needed.
std::launch launchOfDigests();

/// The SHA-256 of the files of a run, each of which is written once. Several threads may write them.
class OutputDigests {
public:
  /// Reads, on a thread of its own, a file while it is written front to back at `temporaryPath`; it will be
  /// called `path`. The promise is to be kept when the file is whole, and dropped if it is given up.
  std::promise<void> follow(const std::string& path, const std::string& temporaryPath);
  /// Reads files that are there, each on a thread of its own, unless they were followed.
  void read(const std::vector<std::string>& paths);
  void wait() const;

  /// Reads the file now if it was neither followed to its end nor read. Throws as Sha256::addFile.
  std::string of(const std::string& path) const;

private:
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_future<std::string>> digests_;
};

}
