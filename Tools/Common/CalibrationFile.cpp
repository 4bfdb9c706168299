#include "Tools/Common/CalibrationFile.h"

#include "Core/Compute/ErrorContext.h"
#include "Core/Compute/Log.h"

#include <cstdlib>
#include <filesystem>

namespace tessera {
namespace {

std::string environment(const char* name)
{
  const char* const value = std::getenv(name);
  return value ? value : "";
}

}

std::string whyNotWorthCuda(double cpuSeconds)
{
  const double startSeconds = storedCalibration().cudaStartSeconds;
  return cpuSeconds > startSeconds ? ""
                                   : "predicted " + decimals(cpuSeconds, 3) + " s, CUDA takes "
                                         + decimals(startSeconds, 3) + " s to start";
}

std::string calibrationPath()
{
  if (const std::string path = environment(calibrationVariable); !path.empty())
    return path;
  const std::string home = environment("HOME");
  std::string config = environment("XDG_CONFIG_HOME");
  if (!config.starts_with("/")) // the XDG Base Directory Specification asks to ignore relative paths
    config.clear();
  if (config.empty() && home.empty())
    return "";
  return (config.empty() ? home + "/.config" : config) + "/tessera/calibration.txt";
}

Calibration storedCalibration()
{
  const std::string path = calibrationPath();
  std::error_code unknown; // whether there is such a file, as in a folder that may not be entered
  const bool isAbsent = path.empty() || !std::filesystem::exists(path, unknown);
  const bool isHidden = unknown == std::errc::permission_denied;
  if (isAbsent && environment(calibrationVariable).empty() && (!unknown || isHidden)) {
    Calibration shipped = shippedCalibration();
    if (isHidden)
      shipped.source += " (" + path + " cannot be seen: " + unknown.message() + ")";
    return shipped;
  }
  std::vector<std::string> notes;
  return withContext("calibration for --device auto",
                     [&] { return calibrationOf(readParameterFile(path, notes)); });
}

}
