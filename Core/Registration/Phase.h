#pragma once

#include <string>

namespace tessera {

/// What one part of an evaluation took, by the clock of the device it runs on.
struct Phase {
  std::string name; // transform, interpolation, metric, pull-back
  double milliseconds = 0;
};

}
