#pragma once

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/ScratchFolder.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace tessera::fuzz {

/// Writes the bytes to a file with the ending of the format that the harness is compiled for.
inline std::string fileOf(const std::uint8_t* bytes, std::size_t count)
{
  static const ScratchFolder& folder = *new ScratchFolder("tessera-fuzz-");
  const std::string path = folder / ("file" TESSERA_FUZZ_ENDING);
  std::FILE* const file = std::fopen(path.c_str(), "wb");
  std::fwrite(bytes, 1, count, file);
  std::fclose(file);
  return path;
}

/// Calls read(). An Error is the right answer to a damaged file; any other exception ends the harness.
template <class Read>
bool succeeds(Read&& read)
{
  try {
    read();
    return true;
  } catch (const Error&) {
    return false;
  }
}

}
