#pragma once

#include "Core/Compute/Error.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace tessera {

/// Marks a transform file as open while its initial transforms are read. Throws Error(unreadableInput) if it
/// is open already, since the chain then closes a circle, and for very long chains.
struct OpenTransformFile {
  std::vector<std::string>& open;

  OpenTransformFile(std::vector<std::string>& files, const std::string& path) : open(files)
  {
    const std::string canonical = std::filesystem::weakly_canonical(path).string();
    if (std::ranges::find(open, canonical) != open.end())
      failAs(ExitCode::unreadableInput, path,
             "it is its own initial transform, through " + std::to_string(open.size()) + " file(s)",
             "a chain that ends with \"NoInitialTransform\"");
    if (constexpr std::size_t longestChain = 200; open.size() == longestChain)
      failAs(ExitCode::unreadableInput, path,
             "it is initial transform number " + std::to_string(longestChain) + " of the first file",
             "a chain of at most " + std::to_string(longestChain) + " files");
    open.push_back(canonical);
  }
  ~OpenTransformFile() { open.pop_back(); }
};

}
