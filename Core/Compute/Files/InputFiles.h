#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// The place of a file that exists or may be written: a folder, whichever path leads to it, and a name in it.
/// The same folder may be mounted at several paths.
struct FilePlace {
  std::uint64_t device = 0, folder = 0; // numbers by which the system knows the folder
  std::string name;

  auto operator<=>(const FilePlace&) const = default;
  /// Whether both places are in the same folder.
  bool isBeside(const FilePlace& other) const { return device == other.device && folder == other.folder; }
};

/// The place to which a path leads, following links. Empty if its folder does not exist.
std::optional<FilePlace> filePlace(const std::string& path);

/// The input files of a run by their places. No output may be written over one of them.
class InputFiles {
public:
  struct Input {
    std::string path, what;
  };

  /// Adds a file. Messages call it `what`, such as "the points a.txt". An empty path adds nothing.
  void add(const std::string& path, const std::string& what);
  /// The input that writing to `path` would replace; null: none.
  const Input* at(const std::string& path) const;

  /// Throws Error(usage) `given: its result would be written over the points a.txt. Allowed: another folder
  /// for -out.` if writing one of these files would replace an input.
  void checkStay(const std::string& given, const std::vector<std::string>& paths) const;
  /// checkStay for a log. It is not replaced when it is complete but opened for writing, so that hard links
  /// count too.
  void checkStayBesideLog(const std::string& path) const;

  const std::map<FilePlace, Input>& files() const { return files_; }

private:
  std::map<FilePlace, Input> files_;
};

/// Throws the error of checkStay: `written` would be replaced.
[[noreturn]] void failWrittenOver(const std::string& given, const std::string& written,
                                  const std::string& what);

}
