#pragma once

namespace tessera {

/// How a kernel is launched, and what the driver says about it.
struct LaunchShape {
  double blocks = 0;
  int threads = 0; // of a block
  int registers = 0;
  double sharedBytes = 0;
  int blocksAMultiprocessor = 0; // that can be active at a time
  int localBytes = 0;            // of a thread, where registers do not suffice

  double warpsABlock() const { return (threads + 31) / 32; }
};

/// Where the thread's next launches of kernels of fields leave how they were launched; null: nowhere.
inline thread_local LaunchShape* launchListener = nullptr;

}
