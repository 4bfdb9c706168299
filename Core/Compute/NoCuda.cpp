#include "Core/Compute/Error.h"
#include "Core/Compute/Stream.h"

// A build without the CUDA toolkit.
namespace tessera {

CudaDevices findCudaDevices()
{
  return {{}, "this build has no CUDA"};
}

std::shared_ptr<Stream> Stream::onDevice(int)
{
  throw Error(ExitCode::device, "CUDA: a stream: this build has no CUDA. Allowed: (Device \"cpu\").");
}

}
