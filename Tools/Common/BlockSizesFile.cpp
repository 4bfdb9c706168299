#include "Tools/Common/BlockSizesFile.h"

#include "Core/Compute/Cuda/Stream.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/Log.h"
#include "Core/Parameters/ParameterText.h"
#include "Tools/Common/CalibrationFile.h"

#include <cctype>
#include <cmath>
#include <filesystem>

namespace tessera {

std::string gpuStorageName(const std::string& gpu, double multiprocessors)
{
  return gpu + ", " + std::to_string(std::lround(multiprocessors)) + " multiprocessors";
}

std::string gpuFilePath(const std::string& storageName)
{
  const std::string calibration = calibrationPath();
  if (calibration.empty())
    return "";
  std::string name = storageName;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '-';
  return (std::filesystem::path(calibration).parent_path() / "gpus" / (name + ".txt")).string();
}

BlockSizes blockSizesOf(const ParameterMap& map)
{
  constexpr std::int64_t warp = 32, most = 1024;
  BlockSizes sizes;
  for (const ParameterEntry& entry : map.entries()) {
    if (!entry.name.starts_with(blockThreadsPrefix))
      continue;
    const auto row = integerParameter(entry.name, 1, 1, Arity::list, "", "");
    for (std::size_t i = 0; i < entry.values.size(); i += 2) {
      const auto items = readValue<std::int64_t>(row, map, entry, i, {});
      const auto threads =
          i + 1 < entry.values.size() ? readValue<std::int64_t>(row, map, entry, i + 1, {}) : 0;
      if (threads % warp != 0 || threads < warp || threads > most)
        failUsage(shownEntry(map, entry), "these are no pairs of a number of items and one of threads",
                  "Allowed: multiples of 32 up to 1024 behind each number of items");
      sizes[entry.name.substr(std::string(blockThreadsPrefix).size())][static_cast<std::size_t>(items)] =
          static_cast<int>(threads);
    }
  }
  return sizes;
}

std::string blockSizesText(const BlockSizes& sizes)
{
  std::string text;
  for (const auto& [kernel, ofKernel] : sizes) {
    text += "(" + (blockThreadsPrefix + kernel);
    for (const auto& [items, threads] : ofKernel)
      text += " " + std::to_string(items) + " " + std::to_string(threads);
    text += ")\n";
  }
  return text;
}

void useStoredBlockSizes(const Context& context, Log& log)
{
  if (!context.onCuda())
    return;
  const CudaDevice device = findCudaDevices().found.at(static_cast<std::size_t>(context.device.ordinal));
  const std::string path = gpuFilePath(gpuStorageName(device.name, device.multiprocessors));
  std::error_code unknown; // whether there is such a file
  if (path.empty() || (!std::filesystem::exists(path, unknown) && !unknown))
    return;
  try {
    std::vector<std::string> notes;
    const BlockSizes sizes = blockSizesOf(readParameterFile(path, notes));
    setBlockSizes(context.device.ordinal, sizes);
    if (!sizes.empty()) // files of earlier programs have none
      log.detail("GPU: block sizes of " + path + ".");
  } catch (const Error& error) {
    log.warning("the stored block sizes of the GPU are not used: " + std::string(error.what()));
  }
}

}
