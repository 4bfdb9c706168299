#include "Core/Compute/Cuda/Stream.h"

#include "Core/Compute/Error.h"

namespace tessera {
namespace {

constexpr const char* noCudaInThisBuild = "this build has no CUDA";

}

CudaDevices findCudaDevices()
{
  if constexpr (builtWithCuda)
    return listCudaDevices();
  else
    return {{}, noCudaInThisBuild};
}

std::shared_ptr<Stream> Stream::onDevice(int ordinal)
{
  if constexpr (builtWithCuda)
    return makeCudaStream(ordinal);
  else
    throw Error(ExitCode::device,
                std::string("CUDA: a stream: ") + noCudaInThisBuild + ". Allowed: (Device \"cpu\").");
}

}
