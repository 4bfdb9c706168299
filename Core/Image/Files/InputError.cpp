#include "Core/Image/Files/InputError.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Log.h"

#include <algorithm>
#include <utility>

namespace tessera {

void failToRead(const std::string& path, const std::string& wrong, const std::string& allowed)
{
  std::string message = path + ": " + wrong + ". Allowed: " + allowed + ".";
  std::ranges::replace(message, '\0', '?'); // at which what() would end
  throw Error(ExitCode::unreadableInput, std::move(message));
}

void checkSpacing(const std::string& path, int axis, double spacingMm)
{
  constexpr double least = 1e-30, most = 1e30; // so that volumes and their inverses are finite
  if (!(spacingMm > least && spacingMm < most))
    failToRead(path,
               "spacing " + shortText(spacingMm) + " on axis " + std::to_string(axis)
                   + ": a voxel must have an extent",
               "spacings above zero; a flipped axis belongs into the direction");
}

std::string shortText(double value)
{
  return significant(value, 6);
}

}
