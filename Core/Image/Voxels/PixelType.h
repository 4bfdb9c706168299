#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <type_traits>

namespace tessera {

/// The type of a component of a voxel in a file.
enum class PixelType { int8, uint8, int16, uint16, int32, uint32, int64, uint64, float32, float64 };

inline constexpr PixelType allPixelTypes[] = {
    PixelType::int8,   PixelType::uint8, PixelType::int16,  PixelType::uint16,  PixelType::int32,
    PixelType::uint32, PixelType::int64, PixelType::uint64, PixelType::float32, PixelType::float64};

/// Reads elastix's names ("unsigned char", "short", "long" of 64 bits, ...) with a blank or "_", the newer
/// "int8" .. "float64", and "uchar", "ushort", "uint", "ulong". `where` names the source of the text. Throws
/// Error(usage) that lists the names.
PixelType parsePixelType(const std::string& text, const std::string& where);

/// elastix's name: "unsigned char", "short", ...
std::string pixelTypeName(PixelType type);

inline bool isFloatingPoint(PixelType type)
{
  return type == PixelType::float32 || type == PixelType::float64;
}

/// Bytes of one component.
std::size_t pixelTypeSize(PixelType type);

/// The type whose name in a file format this is. `names` has those of all types, in their order.
template <class Name, class Given>
std::optional<PixelType> pixelTypeNamed(const Name (&names)[std::size(allPixelTypes)], const Given& name)
{
  const auto* const found = std::ranges::find(names, name);
  return found == std::end(names) ? std::nullopt : std::optional(allPixelTypes[found - names]);
}

/// Calls function(std::type_identity<T>{}) with the C++ type T of `type`.
template <class Function>
decltype(auto) withPixelType(PixelType type, Function&& function)
{
  switch (type) {
  case PixelType::int8:
    return function(std::type_identity<std::int8_t>{});
  case PixelType::uint8:
    return function(std::type_identity<std::uint8_t>{});
  case PixelType::int16:
    return function(std::type_identity<std::int16_t>{});
  case PixelType::uint16:
    return function(std::type_identity<std::uint16_t>{});
  case PixelType::int32:
    return function(std::type_identity<std::int32_t>{});
  case PixelType::uint32:
    return function(std::type_identity<std::uint32_t>{});
  case PixelType::int64:
    return function(std::type_identity<std::int64_t>{});
  case PixelType::uint64:
    return function(std::type_identity<std::uint64_t>{});
  case PixelType::float32:
    return function(std::type_identity<float>{});
  case PixelType::float64:
    break;
  }
  return function(std::type_identity<double>{});
}

}
