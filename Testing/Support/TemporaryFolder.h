#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include <stdlib.h>

namespace tessera::testing {

/// A folder of its own for a test; gone with the object.
class TemporaryFolder {
public:
  TemporaryFolder()
  {
    std::string pattern = (std::filesystem::temp_directory_path() / "tessera-test-XXXXXX").string();
    if (!mkdtemp(pattern.data()))
      throw std::runtime_error("no temporary folder: " + pattern);
    path_ = pattern;
  }
  ~TemporaryFolder()
  {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  /// Writes a file of this content and returns its path.
  std::string write(const std::string& name, const std::string& content) const
  {
    std::ofstream(*this / name, std::ios::binary) << content;
    return *this / name;
  }

  std::string read(const std::string& name) const
  {
    std::ostringstream text;
    text << std::ifstream(*this / name, std::ios::binary).rdbuf();
    return text.str();
  }

  /// Files and folders in it, hidden ones too.
  std::size_t entryCount() const
  {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(path_), std::filesystem::directory_iterator{}));
  }

private:
  std::string path_;
};

}
