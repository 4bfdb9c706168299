#pragma once

#include "Testing/Support/Files/TemporaryFolder.h"

#include <cstring>
#include <string>

namespace tessera::testing {

struct SlopeAndIntercept {
  float slope, intercept;
};

/// Scalings that other programs write, and one that makes floats infinite.
inline constexpr SlopeAndIntercept scalings[] = {{0.1f, -10.3f}, {-2.5e-3f, 0}, {1, 0.5f}, {3e38f, 0}};

/// The uncompressed NIfTI `from` of a folder as `to`, with numbers that are to be scaled. Returns its path.
inline std::string writeScaled(const TemporaryFolder& folder, const std::string& from, const std::string& to,
                               const SlopeAndIntercept& scaling)
{
  std::string bytes = folder.read(from);
  std::memcpy(bytes.data() + 112, &scaling, sizeof scaling); // scl_slope, scl_inter
  return folder.write(to, bytes);
}

}
