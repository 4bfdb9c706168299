#include "Core/Image/Voxels/PixelRounding.h"

namespace tessera {
namespace {

template <class T>
struct Rounding {
  TESSERA_MULTIVERSION_TO_V4 static void run(const float* values, std::size_t count, T* pixels)
  {
    for (std::size_t i = 0; i < count; ++i)
      pixels[i] = toPixel<T>(values[i]);
  }
};

}

void toPixels(std::span<const float> values, PixelType type, std::byte* pixels)
{
  withPixelType(type, [&]<class T>(std::type_identity<T>) {
    Rounding<T>::run(values.data(), values.size(), reinterpret_cast<T*>(pixels));
  });
}

}
