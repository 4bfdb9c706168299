#pragma once

#include "Core/Image/Files/ImageHeader.h"
#include "Tools/Common/InputFiles.h"
#include "Tools/Transform/TransformOptions.h"

#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// One image of -in, or one label map of --labels, and where its result goes.
struct ImageTask {
  std::string option, input; // "-in", "--labels"
  bool isLabels = false;
  std::string outputStem;            // of the result's file name
  std::optional<ImageHeader> header; // of the input, once somebody has read it
};

/// The header of the task's image, read if nobody has yet. Throws as readImageHeader.
const ImageHeader& headerOf(ImageTask&);

/// Where results are written: FOLDER + stem + "." + format.
struct ResultPlace {
  std::string folder, nameOfOne, format;
};

/// What the options name, those of lists (@FILE) too, in the order of the options; label maps last. Lists are
/// read once: they may be pipes. Throws Error(usage) for a list that cannot be read or names nothing.
std::vector<ImageTask> namedImages(const TransformOptions&);

/// Everything that these options have the run read.
InputFiles inputFilesOf(const TransformOptions&, const std::vector<ImageTask>& tasks);

/// A single image that is no list's is written under `nameOfOne`, others under the stems of their names.
/// Throws Error(usage) for two results that would have one name, and for one that would be written over one
/// of the inputs.
void nameResults(const TransformOptions&, const ResultPlace&, const InputFiles& inputs,
                 std::vector<ImageTask>& tasks);

/// "a/b.c/brain.1.nii.gz" gives "brain.1"; of a folder its own name.
std::string imageStem(const std::string& path);

}
