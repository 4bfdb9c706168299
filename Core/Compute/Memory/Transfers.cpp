#include "Core/Compute/Memory/Transfers.h"

#include "Core/Compute/Cuda/Stream.h"

#include <chrono>

namespace tessera {

double transferMilliseconds(const Context& context)
{
  return context.onCuda() ? context.stream->transferMilliseconds() : 0;
}

void countTransfer(const Context& context, double milliseconds)
{
  context.stream->countTransfer(milliseconds);
}

double bytesToDevice(const Context& context)
{
  return context.onCuda() ? context.stream->bytesToDevice() : 0;
}

double bytesToHost(const Context& context)
{
  return context.onCuda() ? context.stream->bytesToHost() : 0;
}

void countBytesToDevice(const Context& context, std::size_t bytes)
{
  context.stream->countBytesToDevice(bytes);
}

void countBytesToHost(const Context& context, std::size_t bytes)
{
  context.stream->countBytesToHost(bytes);
}

HostClock::HostClock(const Context& context)
    : context_(&context), start_(hostMilliseconds() - transferMilliseconds(context))
{
}

double HostClock::milliseconds() const
{
  return hostMilliseconds() - transferMilliseconds(*context_) - start_;
}

double hostMilliseconds()
{
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}
