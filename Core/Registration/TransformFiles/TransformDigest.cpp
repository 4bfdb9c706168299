#include "Core/Registration/TransformFiles/TransformDigest.h"

#include "Core/Compute/Error.h"
#include "Core/Image/Files/Sha256.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/TransformFiles/TransformFile.h"

#include <filesystem>
#include <fstream>
#include <string_view>

namespace tessera {
namespace {

namespace fs = std::filesystem;

/// The name at the start of `(Name value ...)` or of `Name = value`.
std::string_view nameOf(std::string_view line)
{
  if (line.starts_with('('))
    line.remove_prefix(1);
  return line.substr(0, line.find_first_of(" \t=)"));
}

/// The place of a comment in a line of TOML: behind a # that stands in no quotes.
std::size_t tomlComment(std::string_view line)
{
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote == 0 && c == '#')
      return i;
    if (quote == 0 && (c == '"' || c == '\''))
      quote = c;
    else if (c == '\\' && quote == '"')
      ++i;
    else if (c == quote)
      quote = 0;
  }
  return line.npos;
}

void addLine(std::string_view line, bool isToml, Sha256& sha)
{
  line = trimmed(line.substr(0, isToml ? tomlComment(line) : line.find("//")));
  if (line.empty() || isOutputEntry(nameOf(line)))
    return;
  sha.add(line);
  sha.add("\n");
}

/// Adds the content of the files in quotes that a line of a transform file names and that make the transform.
void addNamedFiles(std::string_view line, const fs::path& transformFile, Sha256& sha)
{
  const std::string_view name = nameOf(trimmed(line));
  if (name != "TransformFileName" && name != "DeformationFieldFileName" && name != "SubTransforms")
    return;
  constexpr const char* quotes = "\"'";
  for (std::size_t at = line.find_first_of(quotes); at != line.npos; at = line.find_first_of(quotes, at)) {
    const std::size_t end = line.find(line[at], at + 1);
    if (end == line.npos)
      return;
    const fs::path given = line.substr(at + 1, end - at - 1), folder = transformFile.parent_path();
    at = end + 1;
    std::error_code ignored;
    for (const fs::path& file : {folder / given.filename(), folder / given, given})
      if (fs::is_regular_file(file, ignored)) {
        sha.addFile(file.string());
        break;
      }
  }
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
  for (std::string line; std::getline(file, line);) {
    addLine(line, path.ends_with(".toml"), sha);
    addNamedFiles(line, path, sha);
  }
  if (!file.eof() || file.bad())
    throw Error(ExitCode::unreadableInput,
                path + ": the file cannot be read. Allowed: a file that this user may read.");
  return sha.hexadecimal();
}

}
