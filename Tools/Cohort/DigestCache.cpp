#include "Tools/Cohort/DigestCache.h"

#include "Core/Compute/Files/TextFile.h"

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include <sys/stat.h>
#include <unistd.h>

namespace tessera {
namespace {

std::optional<KnownDigest> fileNow(const std::string& path)
{
  struct stat info {};
  if (stat(path.c_str(), &info) != 0)
    return {};
  return KnownDigest{path, static_cast<std::uint64_t>(info.st_size), info.st_ino,
                     info.st_mtim.tv_sec * std::int64_t(1'000'000'000) + info.st_mtim.tv_nsec, ""};
}

bool isSameFile(const KnownDigest& a, const KnownDigest& b)
{
  return a.bytes == b.bytes && a.inode == b.inode && a.changedNs == b.changedNs;
}

}

std::string DigestCache::knownDigest(const std::string& path)
{
  const std::optional<KnownDigest> now = fileNow(path);
  const std::lock_guard lock(mutex_);
  const auto known = known_.find(path);
  return now && known != known_.end() && isSameFile(known->second, *now) ? known->second.sha256 : "";
}

std::string DigestCache::digest(const std::string& path, const std::stop_token& stop)
{
  const std::optional<KnownDigest> before = fileNow(path);
  if (std::string known = knownDigest(path); !known.empty())
    return known;
  std::string sha256 = digestOfFile(path, stop);
  const std::optional<KnownDigest> after = fileNow(path);
  if (before && after && isSameFile(*before, *after)) {
    KnownDigest found = *after;
    found.sha256 = sha256;
    add(found);
    const std::lock_guard lock(mutex_);
    new_.push_back(std::move(found));
  }
  return sha256;
}

void DigestCache::add(KnownDigest known)
{
  const std::lock_guard lock(mutex_);
  const std::string path = known.path;
  known_[path] = std::move(known);
}

std::vector<KnownDigest> DigestCache::takeNew()
{
  const std::lock_guard lock(mutex_);
  return std::move(new_);
}

void DigestCache::read(const std::string& folder)
{
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
    std::istringstream file(readStateFile(entry.path(), std::size_t{1} << 30).text);
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      KnownDigest known;
      if (words >> known.sha256 >> known.bytes >> known.changedNs >> known.inode && words.get() == '\t'
          && std::getline(words, known.path) && known.sha256.size() == 64)
        add(std::move(known));
    }
  }
}

void DigestCache::append(const std::string& folder, const std::vector<KnownDigest>& digests)
{
  if (digests.empty())
    return;
  std::filesystem::create_directories(folder);
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  std::ofstream file(folder + "/" + host + "-" + std::to_string(getpid()) + ".txt", std::ios::app);
  for (const KnownDigest& known : digests)
    if (known.path.find('\n') == std::string::npos)
      file << known.sha256 << ' ' << known.bytes << ' ' << known.changedNs << ' ' << known.inode << '\t'
           << known.path << '\n';
}

}
