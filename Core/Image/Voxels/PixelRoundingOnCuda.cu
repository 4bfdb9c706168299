#include "Core/Compute/Cuda/Cuda.cuh"
#include "Core/Image/Voxels/PixelRounding.h"

namespace tessera {
namespace {

constexpr unsigned roundingThreads = 256;
constexpr std::size_t pixelsPerThread = 4;

template <class T>
struct alignas(pixelsPerThread * sizeof(T)) Pixels {
  T values[pixelsPerThread];
};

/// Four voxels a thread. Traffic a voxel: reads 4 bytes, writes sizeof(T).
template <class T>
__global__ void roundToPixels(const float* values, std::size_t count, T* pixels, unsigned long long* clamped)
{
  const std::size_t first =
      pixelsPerThread * (blockIdx.x * static_cast<std::size_t>(roundingThreads) + threadIdx.x);
  unsigned own = 0;
  if (first + pixelsPerThread > count) {
    for (std::size_t i = first; i < count; ++i) {
      pixels[i] = toPixel<T>(values[i]);
      own += isClamped<T>(values[i]);
    }
  } else {
    const auto four = *reinterpret_cast<const Pixels<float>*>(values + first);
    Pixels<T> rounded;
    for (std::size_t i = 0; i < pixelsPerThread; ++i) {
      rounded.values[i] = toPixel<T>(four.values[i]);
      own += isClamped<T>(four.values[i]);
    }
    *reinterpret_cast<Pixels<T>*>(pixels + first) = rounded;
  }
  if (own > 0)
    atomicAdd(clamped, static_cast<unsigned long long>(own));
}

}

void toPixelsOnCuda(const Context& context, const float* values, std::size_t count, PixelType type,
                    std::byte* pixels, unsigned long long* clamped)
{
  if (count == 0)
    return;
  const auto blocks = static_cast<unsigned>(ceilDiv<std::size_t>(count, pixelsPerThread * roundingThreads));
  withPixelType(type, [&]<class T>(std::type_identity<T>) {
    roundToPixels<T><<<blocks, roundingThreads, 0, cudaStreamOf(context)>>>(
        values, count, reinterpret_cast<T*>(pixels), clamped);
  });
  checkLaunch("rounding to pixels");
}

}
