#pragma once

#include <string>

namespace tessera {

/// The content of a file, or why it cannot be read.
struct TextFile {
  std::string text;
  std::string failure; // empty if the file was read to its end
};

/// Reads a file or a pipe that somebody writes to. Devices are refused, since some never end, and a pipe
/// without a writer is empty. Throws Error(outOfMemory) if the content does not fit into memory, and
/// std::system_error if a disk fails or too many files are open.
TextFile readTextFile(const std::string& path);

}
