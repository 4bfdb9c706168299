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
  UpdateLines();
  /// Waits until all lines are written.
  ~UpdateLines();

  void put(const nlohmann::ordered_json&);

private:
  void write();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> waiting_;
  bool isOver_ = false;
  std::thread writer_;
};

}
