#pragma once

#include "Core/Compute/Context.h"

namespace tessera {

/// The time that the host has spent so far on copies between itself and the context's CUDA device, including
/// its waits for the work that a copy follows; 0 on the CPU. Values that copyLater copies beside other work
/// are not included.
double transferMilliseconds(const Context&);
/// Adds the time of copies that the stream did not make itself.
void countTransfer(const Context&, double milliseconds);

/// The bytes of arrays that went from the host to the context's CUDA device so far, or back; 0 on the CPU.
double bytesToDevice(const Context&);
double bytesToHost(const Context&);
/// Adds the bytes of copies that the stream did not make itself.
void countBytesToDevice(const Context&, std::size_t bytes);
void countBytesToHost(const Context&, std::size_t bytes);

/// Measures milliseconds on the host since it was made, less those of transfers.
class HostClock {
public:
  explicit HostClock(const Context& context);
  double milliseconds() const;

private:
  const Context* context_;
  double start_;
};

/// Milliseconds of the host's clock, from any fixed moment on.
double hostMilliseconds();

template <class Work>
void addMilliseconds(double& total, Work&& work)
{
  const double start = hostMilliseconds();
  work();
  total += hostMilliseconds() - start;
}

}
