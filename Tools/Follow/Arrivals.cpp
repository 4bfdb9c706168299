#include "Tools/Follow/Arrivals.h"

#include "Core/Parameters/ParameterText.h"
#include "Tools/Common/Signals.h"

#include <cerrno>

#include <poll.h>
#include <unistd.h>

namespace tessera {

void Arrivals::add(std::string path)
{
  const std::lock_guard lock(mutex_);
  waiting_.push_back({std::move(path)});
  changed_.notify_one();
}

void Arrivals::end()
{
  const std::lock_guard lock(mutex_);
  isOver_ = true;
  changed_.notify_one();
}

std::optional<Arrival> Arrivals::next(bool every, std::vector<Arrival>& passed)
{
  std::unique_lock lock(mutex_);
  while (waiting_.empty() && !isOver_ && !stopAsked())
    changed_.wait_for(lock, std::chrono::milliseconds(20)); // a signal wakes nobody
  passed.clear();
  if (waiting_.empty() || stopAsked()) {
    passed.assign(waiting_.begin(), waiting_.end());
    waiting_.clear();
    return {};
  }
  if (!every)
    passed.assign(waiting_.begin(), waiting_.end() - 1);
  Arrival next = std::move(every ? waiting_.front() : waiting_.back());
  waiting_.erase(waiting_.begin(), every ? waiting_.begin() + 1 : waiting_.end());
  return next;
}

void readNames(Arrivals& arrivals, const std::stop_token& stop)
{
  std::string line;
  const auto take = [&] {
    if (const std::string_view name = trimmed(line); !name.empty())
      arrivals.add(std::string(name));
    line.clear();
  };
  char bytes[4096];
  while (!stopAsked() && !stop.stop_requested()) {
    pollfd waiting{STDIN_FILENO, POLLIN, 0};
    if (poll(&waiting, 1, 100) <= 0)
      continue;
    const ssize_t count = read(STDIN_FILENO, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      break;
    for (ssize_t i = 0; i < count; ++i)
      if (bytes[i] == '\n')
        take();
      else
        line += bytes[i];
  }
  take();
  arrivals.end();
}

}
