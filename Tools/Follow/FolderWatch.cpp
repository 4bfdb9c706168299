#include "Tools/Follow/FolderWatch.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Log.h"
#include "Core/Image/Files/FilesOfImage.h"
#include "Core/Image/Files/ImageFormat.h"
#include "Core/Image/Files/ImageSource.h"
#include "Tools/Common/Signals.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

namespace tessera {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int lookMs = 20;
// Slices come one by one, and a part of a series can be read as well as the whole.
constexpr std::chrono::milliseconds unchanged{100}, unchangedFolder{2'000}, beforeNextTry{300},
    damaged{10'000};

bool mayBeImage(const fs::directory_entry& entry)
{
  const std::string name = entry.path().filename();
  std::error_code ignored;
  if (name.starts_with('.') || name.ends_with(".part") || name.ends_with(".tmp"))
    return false;
  return entry.is_directory(ignored) || !formatOf(name).empty();
}

/// Whether the header, or all voxels can be read.
bool canBeRead(const std::string& path, const ReadingOptions& reading, bool wholly)
{
  try {
    const auto source = openImage(path, reading);
    if (wholly)
      source->read([](std::uint64_t, std::span<const std::byte>) {}, 1);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}

FolderWatch::FolderWatch(std::string folder, const std::string& existing, ReadingOptions reading, Log& log)
    : folder_(std::move(folder)), reading_(std::move(reading)), log_(log)
{
  std::error_code failure;
  const fs::directory_iterator readable(folder_, failure);
  if (failure)
    throw Error(ExitCode::unreadableInput, "--watch: " + folder_ + ": it cannot be read (" + failure.message()
                                               + "). Allowed: a folder that exists.");
  events_ = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  if (events_ >= 0)
    inotify_add_watch(events_, folder_.c_str(), IN_CLOSE_WRITE | IN_MOVED_TO);
  const auto there = list(failure);
  auto newest = there.end();
  for (auto image = there.begin(); image != there.end(); ++image) {
    seen_[image->first] = {image->second, Clock::now(), {}, existing != "all"};
    if (newest == there.end() || image->second.changedNs >= newest->second.changedNs)
      newest = image;
  }
  if (existing == "newest" && newest != there.end())
    seen_[newest->first].isTold = false;
}

FolderWatch::~FolderWatch()
{
  if (events_ >= 0)
    close(events_);
}

FolderWatch::Content FolderWatch::contentOf(const std::string& path) const
{
  Content content;
  std::vector<std::string> files{path};
  try {
    files = filesOfImage(path);
  } catch (const Error&) { // a header that is not whole
  }
  for (const std::string& file : files) {
    struct stat status {};
    if (stat(file.c_str(), &status) != 0)
      continue;
    content.bytes += static_cast<std::uint64_t>(status.st_size);
    content.inode ^= status.st_ino;
    ++content.files;
    content.changedNs = std::max(content.changedNs, status.st_mtim.tv_sec * std::int64_t(1'000'000'000)
                                                        + status.st_mtim.tv_nsec);
  }
  return content;
}

std::map<std::string, FolderWatch::Content> FolderWatch::list(std::error_code& failure) const
{
  std::map<std::string, Content> images;
  for (fs::directory_iterator entry(folder_, failure), end; !failure && entry != end;
       entry.increment(failure))
    if (mayBeImage(*entry))
      if (const Content content = contentOf(entry->path()); content.files > 0) // a folder may hold no slices
        images[entry->path().filename()] = content;
  return images;
}

void FolderWatch::takeEvents(int milliseconds)
{
  pollfd waiting{events_, POLLIN, 0};
  if (poll(&waiting, events_ < 0 ? 0 : 1, milliseconds) <= 0)
    return;
  alignas(inotify_event) char bytes[16384];
  const ssize_t count = read(events_, bytes, sizeof bytes);
  for (ssize_t at = 0; at < count;) {
    const auto* const event = reinterpret_cast<const inotify_event*>(bytes + at);
    if (event->len > 0)
      seen_[event->name].isClosed = true;
    at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
  }
}

bool FolderWatch::isComplete(const std::string& path, Seen& seen) const
{
  const auto now = Clock::now();
  std::error_code ignored;
  const auto quiet = fs::is_directory(path, ignored) ? unchangedFolder : unchanged;
  if (!seen.isClosed && (now - seen.since < quiet || now - seen.triedAt < beforeNextTry))
    return false;
  const bool wholly = !std::exchange(seen.isClosed, false) || seen.content.files > 1;
  seen.triedAt = now;
  return canBeRead(path, reading_, wholly) || now - seen.since > damaged;
}

void FolderWatch::look(Arrivals& arrivals)
{
  takeEvents(lookMs);
  std::error_code failure;
  const auto there = list(failure);
  if (failure && isReadable_)
    log_.error("--watch: " + folder_ + ": it cannot be read any more (" + failure.message()
               + "). Images that come are taken once it is there again.");
  isReadable_ = !failure;
  if (failure)
    return; // what was seen is not new when the folder is back
  std::erase_if(seen_, [&](const auto& image) { return !there.contains(image.first); });
  std::vector<std::pair<std::int64_t, std::string>> complete;
  for (const auto& [name, content] : there) {
    Seen& seen = seen_[name];
    if (content != seen.content || seen.since == Clock::time_point{})
      seen = {content, Clock::now(), {}, false, seen.isClosed};
    if (!seen.isTold && isComplete(folder_ + "/" + name, seen)) {
      seen.isTold = true;
      complete.emplace_back(content.changedNs, folder_ + "/" + name);
    }
  }
  std::ranges::sort(complete);
  for (auto& [changed, path] : complete)
    arrivals.add(std::move(path));
}

void FolderWatch::watch(Arrivals& arrivals, const std::stop_token& stop)
{
  while (!stopAsked() && !stop.stop_requested())
    look(arrivals);
  arrivals.end();
}

}
