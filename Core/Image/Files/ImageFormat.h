#pragma once

#include "Core/Image/Voxels/PixelType.h"

#include <string>
#include <vector>

namespace tessera {

/// Formats by their file name extension, as (ResultImageFormat "...") names them: "mhd", "nii.gz", ...
std::vector<std::string> writableFormats();

/// For messages: every format that can be read.
std::string readableFormats();

/// Extension of a file name that is a format ("nii.gz" of "a.b.nii.gz", in lower case); empty if none is.
std::string formatOf(const std::string& path);

/// Throws Error(unwritableOutput) if `format` is unknown or cannot hold such an image without loss of voxels
/// or dimension. Call it before work starts.
void checkWritable(const std::string& format, int dimension, PixelType type, int components = 1);

/// What of an image's geometry the format does not keep, for a warning: "origin and direction"; empty if it
/// keeps all.
std::string geometryLostBy(const std::string& format);

}
