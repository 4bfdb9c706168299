#include "Tools/Cohort/DigestCache.h"

#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/NumberIn.h"

#include <filesystem>
#include <optional>

#include <fcntl.h>
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
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing))
    for (const std::string& line : linesOf(readStateFile(entry.path(), std::size_t{1} << 30).text)) {
      const std::size_t tab = line.find('\t');
      const std::vector<std::string> words = wordsOf(line.substr(0, tab));
      if (tab == line.npos || words.size() != 4 || words[0].size() != 64)
        continue;
      const auto bytes = numberIn<std::uint64_t>(words[1]), inode = numberIn<std::uint64_t>(words[3]);
      const auto changedNs = numberIn<std::int64_t>(words[2]);
      if (bytes && changedNs && inode)
        add({line.substr(tab + 1), *bytes, *inode, *changedNs, words[0]});
    }
}

void DigestCache::append(const std::string& folder, const std::vector<KnownDigest>& digests)
{
  if (digests.empty())
    return;
  std::filesystem::create_directories(folder);
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  std::string lines;
  for (const KnownDigest& known : digests)
    if (known.path.find('\n') == std::string::npos)
      lines += known.sha256 + ' ' + std::to_string(known.bytes) + ' ' + std::to_string(known.changedNs) + ' '
               + std::to_string(known.inode) + '\t' + known.path + '\n';
  const std::string path = folder + "/" + host + "-" + std::to_string(getpid()) + ".txt";
  const int file = open(path.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0666);
  static_cast<void>(!write(file, lines.data(), lines.size())); // a digest that is not kept is made again
  close(file);
}

}
