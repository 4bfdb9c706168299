#pragma once

#include "Core/Runs/Resampling/ImageTask.h"
#include "Core/Compute/Files/InputFiles.h"
#include "Tools/Transform/TransformOptions.h"

#include <string>
#include <vector>

namespace tessera {

/// The file of --describe-transform, in the output folder.
constexpr const char* descriptionName = "transform.json";

/// Where results are written: `folder`, a stem, "." and `format`.
struct ResultPlace {
  std::string folder, singleStem, format; // singleStem: of the only result
};

/// The images that the options and their lists (@FILE) name, in the order of the options, label maps last.
/// Each list is read only once, so that it may be a pipe. Throws Error(usage) for a list that cannot be read
/// or names nothing.
std::vector<ImageTask> namedImages(const TransformOptions&);

/// All files that a run with these options reads.
InputFiles inputFilesOf(const TransformOptions&, const std::vector<ImageTask>& tasks);

/// Sets the names of the results. A single image that no list names gets `singleStem`; others keep the stems
/// of their own names. Throws Error(usage) if two results would have the same name, or one would be written
/// over an input.
void nameResults(const TransformOptions&, const ResultPlace&, const InputFiles& inputs,
                 std::vector<ImageTask>& tasks);

/// All results that are images or fields.
std::vector<std::string> resultPaths(const TransformOptions&, const std::vector<ImageTask>&,
                                     const std::string& folder, const std::string& format);

}
