#pragma once

#include <string>

namespace tessera::testing {

/// The largest difference that a comparison found, in the unit of what it allows: "", " relative" or " of
/// range".
struct LargestDifference {
  double found = 0, allowed = 0;
  std::string unit;
};

/// Adds the line "test, images, quantity, found, allowed, unit" (tabs between) to the file that the
/// environment variable TESSERA_DIFFERENCES names; test and images are those of TESSERA_TEST and
/// TESSERA_IMAGES. Nothing if either text is empty.
void recordDifference(const std::string& quantity, const LargestDifference&);

}
