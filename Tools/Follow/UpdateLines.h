#pragma once

#include <nlohmann/json_fwd.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

namespace tessera {

/// Writes lines of JSON to standard output in a thread of its own, so that a slow reader delays nobody.
class UpdateLines {
public:
  void put(const nlohmann::ordered_json&);

private:
  void write(const std::stop_token&);

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::string> waiting_;
  // The last member, whose end waits until all lines are written.
  std::jthread writer_{[this](const std::stop_token& stop) { write(stop); }};
};

}
