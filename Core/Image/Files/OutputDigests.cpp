#include "Core/Image/Files/OutputDigests.h"

#include "Core/Image/Files/InputFile.h"
#include "Core/Image/Files/Sha256.h"

#include <chrono>
#include <memory>

#include <sys/resource.h>

namespace tessera {
namespace {

/// Empty if the file is given up.
std::string digestOfGrowing(const std::shared_ptr<const InputFile>& file, std::future<void> whole)
{
  Sha256 sha;
  std::vector<char> piece(std::size_t(1) << 18);
  std::uint64_t position = 0;
  for (bool isThere = false;;) {
    const std::size_t got = file->read(position, piece.data(), piece.size());
    sha.add({piece.data(), got});
    position += got;
    if (got == piece.size())
      continue;
    if (isThere)
      break;
    isThere = whole.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready;
  }
  try {
    whole.get();
    return sha.hexadecimal();
  } catch (const std::future_error&) {
    return "";
  }
}

}

std::launch launchOfDigests()
{
  constexpr rlim_t few = 64;
  rlimit files{};
  return getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < few ? std::launch::deferred
                                                                       : std::launch::async;
}

std::promise<void> OutputDigests::follow(const std::string& path, const std::string& temporaryPath)
{
  std::promise<void> whole;
  if (launchOfDigests() == std::launch::async) {
    auto digest = std::async(std::launch::async, digestOfGrowing,
                             std::make_shared<const InputFile>(temporaryPath), whole.get_future());
    const std::lock_guard lock(mutex_);
    digests_.insert_or_assign(path, std::move(digest));
  }
  return whole;
}

void OutputDigests::read(const std::vector<std::string>& paths)
{
  const std::lock_guard lock(mutex_);
  for (const std::string& path : paths)
    if (!digests_.contains(path))
      digests_[path] = std::async(launchOfDigests(), [path] { return digestOfFile(path); });
}

void OutputDigests::wait() const
{
  const std::lock_guard lock(mutex_);
  for (const auto& [path, digest] : digests_)
    digest.wait();
}

std::string OutputDigests::of(const std::string& path) const
{
  std::shared_future<std::string> known;
  if (const std::lock_guard lock(mutex_); digests_.contains(path))
    known = digests_.at(path);
  const std::string digest = known.valid() ? known.get() : "";
  return digest.empty() ? digestOfFile(path) : digest;
}

}
