#include "Core/Registration/TransformFiles/FilesOfTransform.h"

#include "Core/Compute/Error.h"
#include "Core/Image/Files/FilesOfImage.h"
#include "Core/Parameters/TomlFile.h"
#include "Core/Registration/TransformFiles/TransformFilePath.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr const char* listOfTransforms = "SubTransforms"; // the entry that names several files

/// The lines of a parameter text that may name a file, without those that hold the many numbers of a
/// transform.
std::string linesOfPaths(const std::string& path)
{
  constexpr std::size_t longest = std::size_t(1) << 16;
  std::ifstream file(path, std::ios::binary);
  std::string text;
  for (std::string line; std::getline(file, line);)
    if (line.size() < longest
        && (line.find("FileName") != std::string::npos
            || line.find("TransformParameters") != std::string::npos
            || line.find(listOfTransforms) != std::string::npos
            || line.find("SHA256") != std::string::npos)) // which of the candidates is meant
      text += line + "\n";
  return text;
}

/// The paths in a transform parameter file, for whichever transform reads them; only paths of existing files.
std::vector<std::string> namedFiles(const std::string& path)
{
  std::vector<std::string> files, notes;
  const Parameters file(
      std::make_shared<ParameterMap>(isTomlFile(path) ? readParameterFile(path, notes)
                                                      : parseParameterText(linesOfPaths(path), path, notes)),
      "", 0, 1);
  for (const ParameterEntry& entry : file.map().entries())
    for (const std::string& value : entry.values)
      try {
        if (entry.values.size() == 1 || entry.name == listOfTransforms)
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
