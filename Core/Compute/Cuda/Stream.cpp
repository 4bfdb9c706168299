#include "Core/Compute/Cuda/Stream.h"

#include "Core/Compute/Error.h"

#include <unistd.h>

namespace tessera {
namespace {

constexpr const char* noCudaInThisBuild = "this build has no CUDA";

std::atomic<pid_t> startedIn{0}; // the process that has used CUDA first; 0: none

/// Called before CUDA is used. It works in no child of a process that has used it.
void startCuda()
{
  pid_t user = 0;
  if (!startedIn.compare_exchange_strong(user, getpid()) && user != getpid())
    throw Error(ExitCode::device, "CUDA: process " + std::to_string(getpid())
                                      + ": it was forked after process " + std::to_string(user)
                                      + " had started CUDA, which cannot go on in a fork. Allowed: a new "
                                        "process (in Python the start method \"spawn\"), or \"cpu\".");
}

}

CudaDevices findCudaDevices()
{
  if constexpr (builtWithCuda) {
    startCuda();
    return listCudaDevices();
  } else {
    return {{}, noCudaInThisBuild};
  }
}

std::shared_ptr<Stream> Stream::onDevice(int ordinal, double mostBytes)
{
  if constexpr (builtWithCuda) {
    startCuda();
    return makeCudaStream(ordinal, mostBytes);
  } else {
    throw Error(ExitCode::device,
                std::string("CUDA: a stream: ") + noCudaInThisBuild + ". Allowed: (Device \"cpu\").");
  }
}

}
