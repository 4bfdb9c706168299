#pragma once

#include "Core/Runs/RunRecord.h"

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace tessera {

/// A file at one moment, and its digest.
struct KnownDigest {
  std::string path;
  std::uint64_t bytes = 0, inode = 0;
  std::int64_t changedNs = 0; // time of the last change, in nanoseconds
  std::string sha256;
};

/// Digests of files, computed once a content: a file whose size, time of change and inode are as they were is
/// not read again. Several threads may ask.
class DigestCache {
public:
  /// Throws as digestOfFile.
  std::string digest(const std::string& path, const std::stop_token&);

  /// Empty if it is not known, or the file has changed since.
  std::string knownDigest(const std::string& path);

  void add(KnownDigest);
  /// The digests that digest() had to compute since the last call.
  std::vector<KnownDigest> takeNew();

  /// Reads what processes have written to the folder. Lines that are damaged are left out.
  void read(const std::string& folder);
  /// Writes lines to this process's own file of the folder.
  static void append(const std::string& folder, const std::vector<KnownDigest>&);

private:
  std::mutex mutex_;
  std::map<std::string, KnownDigest> known_; // by path
  std::vector<KnownDigest> new_;
};

}
