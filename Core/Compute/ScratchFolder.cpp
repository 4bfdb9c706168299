#include "Core/Compute/ScratchFolder.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <stdlib.h>

namespace tessera {

namespace fs = std::filesystem;

ScratchFolder::ScratchFolder(const std::string& parent, const std::string& prefix)
    : path_((fs::path(parent) / (prefix + "XXXXXX")).string())
{
  if (!mkdtemp(path_.data()))
    throw std::system_error(errno, std::generic_category(), parent);
}

ScratchFolder::ScratchFolder(const std::string& prefix) : ScratchFolder(fs::temp_directory_path().string(), prefix) {}

ScratchFolder::~ScratchFolder()
{
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}
