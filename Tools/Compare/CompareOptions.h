#pragma once

#include "Core/Image/Files/ReadingOptions.h"
#include "Tools/Common/CommandLine.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera {

struct CompareOptions {
  std::string first, second, mask; // images; empty: not given
  std::string firstLabels, secondLabels;
  std::string json, pictures;      // a file and a folder
  std::optional<double> greyRange; // L of the structural similarity
  std::vector<std::size_t> voxel;  // of the pictures; empty: the middle
  std::string device = "auto";     // that compares the images
  int threads = 1;
  ReadingOptions reading;
};

ProgramText compareText();

/// Throws Error(usage).
CompareOptions compareOptions(const Arguments&);

}
