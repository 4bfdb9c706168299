#include "Core/Image/Voxels/PixelRounding.h"

namespace tessera {
namespace {

template <class T>
struct Rounding {
  TESSERA_MULTIVERSION_TO_V4 static std::size_t run(const float* values, std::size_t count, T* pixels)
  {
    for (std::size_t i = 0; i < count; ++i)
      pixels[i] = toPixel<T>(values[i]);
    std::size_t clamped = 0;
    for (std::size_t i = 0; i < count; ++i)
      clamped += isClamped<T>(values[i]);
    return clamped;
  }
};

}

std::size_t toPixels(std::span<const float> values, PixelType type, std::byte* pixels)
{
  return withPixelType(type, [&]<class T>(std::type_identity<T>) {
    return Rounding<T>::run(values.data(), values.size(), reinterpret_cast<T*>(pixels));
  });
}

}
