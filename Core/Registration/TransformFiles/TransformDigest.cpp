#include "Core/Registration/TransformFiles/TransformDigest.h"

#include "Core/Compute/Error.h"
#include "Core/Image/Files/Sha256.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/TransformFiles/TransformFile.h"

#include <fstream>
#include <string_view>

namespace tessera {
namespace {

/// The name at the start of `(Name value ...)` or of `Name = value`.
std::string_view nameOf(std::string_view line)
{
  if (line.starts_with('('))
    line.remove_prefix(1);
  return line.substr(0, line.find_first_of(" \t=)"));
}

void addLine(std::string_view line, Sha256& sha)
{
  line = trimmed(line.substr(0, line.find("//")));
  if (line.empty() || isOutputEntry(nameOf(line)))
    return;
  sha.add(line);
  sha.add("\n");
}

}

std::string transformDigest(const std::string& path)
{
  Sha256 sha;
  if (!path.ends_with(".txt") && !path.ends_with(".toml")) {
    sha.addFile(path);
    return sha.hexadecimal();
  }
  std::ifstream file(path, std::ios::binary);
  for (std::string line; std::getline(file, line);)
    addLine(line, sha);
  if (!file.eof() || file.bad())
    throw Error(ExitCode::unreadableInput,
                path + ": the file cannot be read. Allowed: a file that this user may read.");
  return sha.hexadecimal();
}

}
