#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace tessera {

/// An image that has come.
struct Arrival {
  std::string path;
  std::chrono::steady_clock::time_point time = std::chrono::steady_clock::now();
};

/// Images that one thread finds and another one registers.
class Arrivals {
public:
  void add(std::string path);
  /// There will be no more.
  void end();

  /// Waits for the newest one; `passed` receives those that came before it. With `every` it is the oldest
  /// one, and none is passed. Nothing once there are no more, or a signal asks the program to end: then all
  /// that wait are passed.
  std::optional<Arrival> next(bool every, std::vector<Arrival>& passed);

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Arrival> waiting_;
  bool isOver_ = false;
};

/// Adds the lines of standard input, without blank ones, until it ends or is told to stop.
void readNames(Arrivals&, const std::stop_token&);

}
