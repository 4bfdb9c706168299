#include "Core/Compute/Files/DiskRoom.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Memory/DeviceMemory.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr double bestCompression = 1032; // of deflate

double bytesOfFiles(const std::vector<std::string>& paths)
{
  double bytes = 0;
  for (const std::string& path : paths) {
    std::error_code failure;
    const auto size = fs::file_size(path, failure);
    bytes += failure ? 0 : static_cast<double>(size);
  }
  return bytes;
}

/// The most bytes that are taken at a time beyond those that are taken now.
double mostTaken(const std::vector<ResultToWrite>& results, double compression)
{
  double taken = 0, most = 0;
  for (const ResultToWrite& result : results) {
    taken += result.bytes / (result.isCompressed ? compression : 1);
    most = std::max(most, taken);
    taken -= bytesOfFiles(result.files);
  }
  return most;
}

/// The bytes that are free where a folder is or will be; infinite if the system does not tell.
double freeBytes(const std::string& folder)
{
  std::error_code failure;
  fs::path place = fs::absolute(folder, failure);
  while (!fs::exists(place, failure) && place.has_relative_path())
    place = place.parent_path();
  const fs::space_info space = fs::space(place, failure);
  const bool isUnknown = failure || space.capacity == 0; // some file systems of other machines do not tell
  return isUnknown ? std::numeric_limits<double>::infinity() : static_cast<double>(space.available);
}

}

std::string requireDiskRoom(const std::string& where, const std::string& folder,
                            const std::vector<ResultToWrite>& results)
{
  const double least = mostTaken(results, bestCompression), most = mostTaken(results, 1),
               room = freeBytes(folder);
  if (most <= room)
    return "";
  const auto largest = std::ranges::max_element(results, {}, &ResultToWrite::bytes);
  const std::string sizes = (results.size() == 1 ? "" : "the largest of them ") + largest->files.front()
                            + " with " + memoryText(largest->bytes)
                            + (largest->isCompressed ? " before compression" : ""),
                    has = "; " + memoryText(room) + " are free there";
  if (least > room)
    failAs(ExitCode::unwritableOutput, where,
           "the results take at least " + memoryText(least) + " (" + sizes + ")" + has,
           "a folder on a disk with more room, or fewer or smaller results");
  return where + ": the results may take up to " + memoryText(most) + " (" + sizes + ")" + has + ".";
}

}
