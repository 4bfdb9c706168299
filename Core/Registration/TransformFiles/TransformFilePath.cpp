#include "Core/Registration/TransformFiles/TransformFilePath.h"

#include "Core/Compute/Error.h"
#include "Core/Registration/TransformFiles/TransformDigest.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

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
    const fs::path folder = ownFile.parent_path(), moved = folder / fs::path(path).filename();
    add(path);
    add(folder / path);
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

bool haveSameBytes(const std::string& a, const std::string& b)
{
  std::error_code ignored;
  if (fs::file_size(a, ignored) != fs::file_size(b, ignored))
    return false;
  std::ifstream first(a, std::ios::binary), second(b, std::ios::binary);
  using Bytes = std::istreambuf_iterator<char>;
  return std::equal(Bytes(first), Bytes(), Bytes(second), Bytes());
}

std::string list(const std::vector<std::string>& files)
{
  std::string text;
  for (const std::string& file : files)
    text += (text.empty() ? "" : ", ") + file;
  return text;
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
  const std::string name = key.starts_with("InitialTransform") ? initialTransformDigest
                           : key == "DeformationFieldFileName" ? deformationFieldDigest
                           : key == "TransformFileName"        ? transformFileDigest
                           : key == "SubTransforms"            ? subTransformsDigest
                                                               : "";
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
              transformFile.where(key) + ": " + list(files) + ": "
                  + (files.size() == 1 ? "this file does not hold" : "none of these files holds")
                  + " the transform that the result was made with (" + digest.entry + " \"" + digest.value
                  + "\")" + allowed + " to a file with that transform; without the entry " + digest.entry
                  + " any transform is taken.");
}

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

}
