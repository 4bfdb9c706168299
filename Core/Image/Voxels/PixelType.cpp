#include "Core/Image/Voxels/PixelType.h"

#include "Core/Compute/Error.h"

#include <array>

namespace tessera {
namespace {

struct Names {
  PixelType type;
  const char* elastix;
  const char* sized;
};

constexpr std::array<Names, 10> names{{{PixelType::int8, "char", "int8"},
                                       {PixelType::uint8, "unsigned char", "uint8"},
                                       {PixelType::int16, "short", "int16"},
                                       {PixelType::uint16, "unsigned short", "uint16"},
                                       {PixelType::int32, "int", "int32"},
                                       {PixelType::uint32, "unsigned int", "uint32"},
                                       {PixelType::int64, "long", "int64"},
                                       {PixelType::uint64, "unsigned long", "uint64"},
                                       {PixelType::float32, "float", "float32"},
                                       {PixelType::float64, "double", "float64"}}};

}

PixelType parsePixelType(const std::string& text, const std::string& where)
{
  std::string name = text, allowed; // "ushort" and "unsigned_short" are "unsigned short"
  if (name == "uchar" || name == "ushort" || name == "ulong" || name == "uint")
    name.replace(0, 1, "unsigned ");
  std::ranges::replace(name, '_', ' ');
  for (const Names& entry : names) {
    if (name == entry.elastix || name == entry.sized)
      return entry.type;
    allowed += std::string(allowed.empty() ? "" : ", ") + entry.elastix;
  }
  for (const Names& entry : names)
    allowed += std::string(", ") + entry.sized;
  failAs(ExitCode::usage, where, "\"" + text + "\": no such pixel type", allowed);
}

std::string pixelTypeName(PixelType type)
{
  return names[static_cast<std::size_t>(type)].elastix;
}

std::size_t pixelTypeSize(PixelType type)
{
  return withPixelType(type, []<class T>(std::type_identity<T>) { return sizeof(T); });
}

}
