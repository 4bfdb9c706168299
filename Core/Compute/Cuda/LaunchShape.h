#pragma once

namespace tessera {

/// How a kernel is launched, and what the driver says about it.
struct LaunchShape {
  double blocks = 0;
  int threads = 0; // of a block
  int registers = 0;
  double sharedBytes = 0;
  int blocksAMultiprocessor = 0; // that can be active at a time

  double warpsABlock() const { return (threads + 31) / 32; }
};

}
