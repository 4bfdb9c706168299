#pragma once

#include "Core/Compute/Context.h"

namespace tessera {

/// Time that the host spent so far on copies between itself and the context's CUDA device, with its waits for
/// the work that a copy follows; 0 on the CPU. Not that of values that copyLater brings beside other work.
double transferMilliseconds(const Context&);
/// Adds to that, for copies that are not the stream's own.
void countTransfer(const Context&, double milliseconds);

/// Bytes of arrays that went from the host to the context's CUDA device so far; 0 on the CPU.
double bytesToDevice(const Context&);
/// Adds to that, for copies that are not the stream's own.
void countBytesToDevice(const Context&, std::size_t bytes);

/// Milliseconds on the host since it was made, less those of transfers.
class HostClock {
public:
  explicit HostClock(const Context& context);
  double milliseconds() const;

private:
  const Context* context_;
  double start_;
};

/// On the host, from any one moment on.
double hostMilliseconds();

template <class Work>
void addMilliseconds(double& total, Work&& work)
{
  const double start = hostMilliseconds();
  work();
  total += hostMilliseconds() - start;
}

}
