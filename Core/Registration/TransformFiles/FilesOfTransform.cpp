#include "Core/Registration/TransformFiles/FilesOfTransform.h"

#include "Core/Compute/Error.h"
#include "Core/Image/Files/FilesOfImage.h"
#include "Core/Registration/TransformFiles/TransformFilePath.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace tessera {
namespace {

namespace fs = std::filesystem;

/// The paths in a transform parameter file, for whichever transform reads them; only paths of existing files.
std::vector<std::string> namedFiles(const std::string& path)
{
  std::vector<std::string> files;
  const Parameters file(std::make_shared<ParameterMap>(entriesWithPaths(path)), "", 0, 1);
  for (const ParameterEntry& entry : file.map().entries())
    for (const std::string& value : entry.values)
      try {
        if (entry.values.size() == 1 || entry.name == "SubTransforms")
          files.push_back(pathBesideTransformFile(file, entry.name, value));
      } catch (const Error&) {
      }
  return files;
}

void addFiles(const std::string& path, std::vector<std::string>& files)
{
  constexpr std::size_t most = 1000; // of a chain that is too long, which reading it reports
  if (files.size() > most || std::find(files.begin(), files.end(), path) != files.end())
    return; // the chain closes a circle
  for (const std::string& file : filesOfImage(path))
    files.push_back(file);
  if (std::error_code ignored; !fs::is_regular_file(path, ignored))
    return;
  try {
    for (const std::string& named : namedFiles(path))
      addFiles(named, files);
  } catch (const Error&) { // the file is no parameter text
  }
}

}

std::vector<std::string> filesOfTransform(const std::string& path)
{
  std::vector<std::string> files;
  addFiles(path, files);
  return files;
}

}
