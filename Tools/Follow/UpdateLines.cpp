#include "Tools/Follow/UpdateLines.h"

#include "Tools/Common/StandardOutput.h"

#include <nlohmann/json.hpp>

namespace tessera {

UpdateLines::UpdateLines() : writer_([this] { write(); }) {}

UpdateLines::~UpdateLines()
{
  {
    const std::lock_guard lock(mutex_);
    isOver_ = true;
    changed_.notify_one();
  }
  writer_.join();
}

void UpdateLines::put(const nlohmann::ordered_json& line)
{
  const std::lock_guard lock(mutex_);
  waiting_.push_back(line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n");
  changed_.notify_one();
}

void UpdateLines::write()
{
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return isOver_ || !waiting_.empty(); });
    if (waiting_.empty())
      return;
    const std::string line = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    putStandardOutput(line);
    flushStandardOutput(); // what failed is told at the end
    lock.lock();
  }
}

}
