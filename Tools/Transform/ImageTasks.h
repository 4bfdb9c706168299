#pragma once

#include "Tools/Transform/TransformOptions.h"

#include <string>
#include <vector>

namespace tessera {

/// One image of -in, or one label map of --labels, and where its result goes.
struct ImageTask {
  std::string option, input; // "-in", "--labels"
  bool isLabels = false;
  std::string outputStem; // of the result's file name
};

/// Where results are written: FOLDER + stem + "." + format.
struct ResultPlace {
  std::string folder, nameOfOne, format;
};

/// What the options name, those of lists (@FILE) too, in the order of the options; label maps last. A single image that is no
/// list's is written under `nameOfOne`, others under the stems of their names. Throws Error(usage) for a list that cannot be read
/// or names nothing, for two results that would have one name, and for one that would be written over an image or
/// the points of the options.
std::vector<ImageTask> imageTasks(const TransformOptions&, const ResultPlace&);

/// "a/b.c/brain.1.nii.gz" gives "brain.1"; of a folder its own name.
std::string imageStem(const std::string& path);

}
