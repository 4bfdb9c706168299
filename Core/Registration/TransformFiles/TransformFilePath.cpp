#include "Core/Registration/TransformFiles/TransformFilePath.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Image/Files/FilesOfImage.h"
#include "Core/Image/Files/InputFile.h"
#include "Core/Parameters/TomlFile.h"
#include "Core/Registration/TransformFiles/TransformDigest.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <system_error>

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr const char* allowed =
    ". Allowed: a path from the working folder or from the transform file's folder";

/// Existing files, each once, in the order in which they are tried.
struct Candidates {
  std::vector<std::string> files;
  bool onlyMoved = false; // the only one is the file of that name beside the transform file

  Candidates(const fs::path& ownFile, const std::string& path)
  {
    const fs::path folder = ownFile.parent_path(), moved = folder / path.substr(path.find_last_of("/\\") + 1);
    add(path);
    add(pathOnThisSystem((folder / path).string()));
    onlyMoved = files.empty();
    if (std::error_code ignored; !fs::equivalent(moved, ownFile, ignored))
      add(moved);
  }

private:
  void add(const fs::path& path)
  {
    std::error_code ignored;
    const bool isKnown = std::ranges::any_of(
        files, [&](const std::string& file) { return fs::equivalent(file, path, ignored); });
    const bool isReadable = fs::is_regular_file(path, ignored) || fs::is_directory(path, ignored);
    if (isReadable && !isKnown)
      files.push_back(path.string());
  }
};

/// The lines of a transform file that may name a file or hold its digest, without those that hold the many
/// numbers of a transform.
std::string linesWithPaths(const std::string& path)
{
  constexpr std::size_t longest = std::size_t(1) << 16;
  std::string text;
  for (const std::string& line : linesOf(readTextFile(path).text))
    if (line.size() < longest
        && std::ranges::any_of(std::array{"FileName", "TransformParameters", "SubTransforms", "SHA256"},
                               [&](const char* part) { return line.find(part) != line.npos; }))
      text += line + "\n";
  return text;
}

bool haveSameBytes(const std::string& a, const std::string& b)
{
  std::error_code failure;
  if (const auto bytes = fs::file_size(a, failure); failure || bytes != fs::file_size(b, failure))
    return a == b; // folders have no size
  const InputFile first(a), second(b);
  constexpr std::size_t pieceBytes = std::size_t(1) << 20;
  for (std::uint64_t position = 0;; position += pieceBytes)
    if (const std::string piece = first.text(position, pieceBytes);
        piece != second.text(position, pieceBytes) || piece.empty())
      return piece.empty();
}

[[noreturn]] void failMissing(const Parameters& transformFile, const std::string& key,
                              const std::string& path)
{
  const std::string beside = (fs::path(transformFile.map().fileName()).parent_path() / path).string();
  throw Error(ExitCode::unreadableInput,
              transformFile.where(key) + ": "
                  + (beside == path ? "there is no " + path : "there is neither " + path + " nor " + beside)
                  + allowed + ".");
}

/// The digest that the transform file holds of the file that `path` names, with its entry's name.
struct KnownDigest {
  std::string entry, value; // empty: the file holds none
};

KnownDigest digestOf(const ParameterMap& map, const std::string& key, const std::string& path)
{
  const std::string name = digestEntryOf(key);
  const ParameterEntry* const digests = map.find(name);
  if (name.empty() || !digests || digests->values.empty())
    return {};
  const ParameterEntry* const paths = map.find(key);
  std::size_t at = 0;
  if (paths && digests->values.size() > 1)
    at = static_cast<std::size_t>(std::ranges::find(paths->values, path) - paths->values.begin());
  return at < digests->values.size() ? KnownDigest{name, digests->values[at]} : KnownDigest{};
}

std::string withDigest(const Parameters& transformFile, const std::string& key, const KnownDigest& digest,
                       const std::vector<std::string>& files)
{
  for (const std::string& file : files)
    try {
      if (transformDigest(file) == digest.value)
        return file;
    } catch (const Error&) { // a file that cannot be read is not the one
    }
  throw Error(ExitCode::unreadableInput,
              transformFile.where(key) + ": " + joined(files) + ": "
                  + (files.size() == 1 ? "this file does not hold" : "none of these files holds")
                  + " the transform that the result was made with (" + digest.entry + " \"" + digest.value
                  + "\")" + allowed + " to a file with that transform; without the entry " + digest.entry
                  + " any transform is taken.");
}

}

ParameterMap entriesWithPaths(const std::string& path)
{
  std::vector<std::string> notes;
  return isTomlFile(path) ? readParameterFile(path, notes)
                          : parseParameterText(linesWithPaths(path), path, notes);
}

std::string pathBesideTransformFile(const Parameters& transformFile, const std::string& key,
                                    const std::string& path)
{
  const Candidates candidates(transformFile.map().fileName(), path);
  const std::vector<std::string>& files = candidates.files;
  if (files.empty())
    failMissing(transformFile, key, path);
  if (const KnownDigest digest = digestOf(transformFile.map(), key, path); !digest.value.empty())
    return withDigest(transformFile, key, digest, files);
  if (candidates.onlyMoved)
    transformFile.warn(transformFile.where(key) + ": there is no such file; " + files.front()
                       + " is taken, which lies beside the transform file.");
  for (const std::string& other : files)
    if (!haveSameBytes(files.front(), other)) {
      transformFile.warn(transformFile.where(key) + ": " + files.front() + " is taken, as elastix does; "
                         + other + " has other content.");
      break;
    }
  return files.front();
}

namespace {

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
