#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace tessera {

/// A place where a file is or may be put: a name in a folder, whichever path leads there. A folder may be
/// mounted at several.
struct FilePlace {
  std::uint64_t device = 0, folder = 0; // numbers by which the system knows the folder
  std::string name;

  auto operator<=>(const FilePlace&) const = default;
  /// In one folder.
  bool isBeside(const FilePlace& other) const { return device == other.device && folder == other.folder; }
};

/// Links followed; nothing if there is no such folder.
std::optional<FilePlace> filePlace(const std::string& path);

/// What a run reads, by its files, links followed: none of its outputs is written over one of them.
class InputFiles {
public:
  /// `what` is said of it: "the points a.txt". Nothing for an empty path.
  void add(const std::string& path, const std::string& what);
  /// With all files that its header names.
  void addImage(const std::string& path, const std::string& what);
  /// With its initial transforms, and the files that these name.
  void addTransform(const std::string& path, const std::string& what);

  /// What is read from the file that would be written to `path`; null: nothing.
  const std::string* at(const std::string& path) const;

  /// Throws Error(usage) `given: its result would be written over the points a.txt. Allowed: another folder
  /// for -out.` if an image or another file of this path would be.
  void checkStay(const std::string& given, const std::string& path) const;
  /// The same of a log, which is opened as it is and not put in its place when it is whole: hard links are
  /// followed too.
  void checkStayBesideLog(const std::string& path) const;

  struct Input {
    std::string path, what;
  };
  const std::map<FilePlace, Input>& files() const { return files_; }

private:
  std::map<FilePlace, Input> files_;
};

/// Throws that error: `what` is what would be written over.
[[noreturn]] void failWrittenOver(const std::string& given, const std::string& written,
                                  const std::string& what);

}
