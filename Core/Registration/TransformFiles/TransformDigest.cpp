#include "Core/Registration/TransformFiles/TransformDigest.h"

#include "Core/Compute/Files/TextFile.h"
#include "Core/Image/Files/Sha256.h"
#include "Core/Image/Files/TextWords.h"
#include "Core/Parameters/ParameterText.h"
#include "Core/Registration/TransformFiles/TransformFile.h"
#include "Core/Registration/TransformFiles/TransformFilePath.h"

namespace tessera {
namespace {

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

/// Adds the content of the files that an entry of a transform file names, unless they have digests there.
void addNamedFiles(const std::string& entry, const std::string& path, Sha256& sha)
{
  const Parameters file(std::make_shared<ParameterMap>(entriesWithPaths(path)), "", 0, 1);
  const ParameterEntry* const names = file.map().find(entry);
  if (!names || file.has(digestEntryOf(entry)))
    return;
  for (const std::string& name : names->values)
    sha.addFile(pathBesideTransformFile(file, entry, name));
}

}

std::string digestEntryOf(std::string_view entry)
{
  return entry.starts_with("InitialTransform") ? initialTransformDigest
         : entry == "DeformationFieldFileName" ? deformationFieldDigest
         : entry == "TransformFileName"        ? transformFileDigest
         : entry == "SubTransforms"            ? subTransformsDigest
                                               : "";
}

std::string transformDigest(const std::string& path)
{
  Sha256 sha;
  if (!path.ends_with(".txt") && !path.ends_with(".toml")) {
    sha.addFile(path);
    return sha.hexadecimal();
  }
  for (const std::string& line : linesOf(readWholeFile(path))) {
    addLine(line, path.ends_with(".toml"), sha);
    const std::string entry(nameOf(trimmed(line)));
    if (const std::string digest = digestEntryOf(entry); !digest.empty() && digest != initialTransformDigest)
      addNamedFiles(entry, path, sha);
  }
  return sha.hexadecimal();
}

}
