#pragma once

#include "Core/Compute/Files/ScratchFolder.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace tessera::testing {

/// A folder of its own for a test; gone with the object.
class TemporaryFolder : public ScratchFolder {
public:
  TemporaryFolder() : ScratchFolder("tessera-test-") {}

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
        std::distance(std::filesystem::directory_iterator(path()), std::filesystem::directory_iterator{}));
  }
};

}
