#pragma once

#include <string>

namespace tessera {

/// The time of one part of an evaluation, by the clock of the device on which it runs.
struct Phase {
  std::string name; // transform, interpolation, metric, pull-back
  double milliseconds = 0;
};

}
