#pragma once

#include "Core/Image/Voxels/PixelType.h"

#include <string>
#include <vector>

namespace tessera {

/// The formats that can be written, by file name extension as in (ResultImageFormat "..."): "mhd", "nii.gz",
/// ...
std::vector<std::string> writableFormats();

/// Text for messages: every format that can be read.
std::string readableFormats();

/// The format of a file name in lower case, such as "nii.gz" for "a.b.NII.GZ"; empty if its extension is
/// none.
std::string formatOf(const std::string& path);

/// Throws Error(unwritableOutput) if `format` is not known or cannot hold voxels of this type, dimension and
/// number of components. To be called before any work.
void checkWritable(const std::string& format, int dimension, PixelType type, int components = 1);

/// Whether files of this format can hold voxels of this type and number of components.
bool formatHolds(const std::string& format, PixelType type, int components = 1);

/// Whether files of this format are smaller than their voxels: always, or if the user asks for compression.
bool formatCompresses(const std::string& format, bool asked);

/// Whether a file of this format puts the voxels of a grid with other axes elsewhere.
bool holdsOnlyPerpendicularAxes(const std::string& format);

/// Text for a warning: the part of an image's geometry that the format does not store, such as "origin and
/// direction". Empty if it stores all.
std::string geometryLostBy(const std::string& format, int dimension);

}
