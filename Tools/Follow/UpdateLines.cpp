#include "Tools/Follow/UpdateLines.h"

#include "Tools/Common/StandardOutput.h"

#include <nlohmann/json.hpp>

namespace tessera {

void UpdateLines::put(const nlohmann::ordered_json& line)
{
  const std::lock_guard lock(mutex_);
  waiting_.push_back(line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  changed_.notify_one();
}

void UpdateLines::write(const std::stop_token& stop)
{
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
    const std::string line = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    putStandardOutput(line);
    flushStandardOutput(); // what failed is told at the end
    lock.lock();
  }
}

}
