#include "Core/Compute/NumberIn.h"
#include "Core/Image/FileChecks/HeaderText.h"
#include "Core/Image/Files/InputError.h"

#include <fstream>
#include <limits>
#include <type_traits>

namespace tessera {
namespace {

template <class T>
bool holds(const std::string& word, bool takesDecimals)
{
  const std::optional<double> number = finiteNumber(word);
  if (!number)
    return false;
  if constexpr (std::is_floating_point_v<T>) {
    return std::abs(*number) <= static_cast<double>(std::numeric_limits<T>::max());
  } else {
    if (numberIn<T>(std::string_view(word).substr(word.front() == '+')))
      return true;
    return takesDecimals && *number == std::floor(*number)
           && *number >= static_cast<double>(std::numeric_limits<T>::lowest())
           && *number <= static_cast<double>(std::numeric_limits<T>::max())
           && word.find_first_of(".eE") != std::string::npos;
  }
}

}

std::uint64_t countTextNumbers(const std::string& image, const TextVoxels& voxels)
{
  std::ifstream stream(voxels.path, std::ios::binary);
  stream.exceptions(std::ios::badbit); // without memory the text would seem to end
  stream.seekg(static_cast<std::streamoff>(voxels.from));
  std::uint64_t count = 0;
  withPixelType(voxels.type, [&]<class T>(std::type_identity<T>) {
    for (std::string word; count < voxels.enough && stream >> word; ++count)
      if (!holds<T>(word, voxels.takesDecimals))
        failToRead(image,
                   "voxel " + std::to_string(count + 1) + " is \"" + word.substr(0, 40)
                       + "\", which is no number that a voxel of its type holds",
                   std::is_integral_v<T>
                       ? "whole numbers from " + std::to_string(std::numeric_limits<T>::lowest()) + " to "
                             + std::to_string(std::numeric_limits<T>::max())
                       : "finite decimal numbers");
  });
  return count;
}

}
