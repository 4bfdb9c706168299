#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// A folder of DICOM slices, and the series in it that is meant; empty: the only one, or the one that
/// ReadingOptions::dicomSeries names.
struct DicomPlace {
  std::string folder, series;
};

/// Whether a file may be a DICOM slice, by its ending or its first bytes.
bool mayBeDicom(const std::string& path);

/// The folder that `path` is; or the one that holds DICOM slices and in which `path` would be a file named
/// like one of its series, FOLDER/NAME, but is none. Empty for all other paths.
std::optional<DicomPlace> dicomPlace(const std::string& path);

/// All files from which an image is read, whether they exist or not: the file itself, data files that its
/// header names, the other file of a pair, or all files of a folder that may be DICOM slices.
std::vector<std::string> filesOfImage(const std::string& path);

/// The files that writing an image to this path may create: some formats keep their voxels in a second file.
std::vector<std::string> filesOfResult(const std::string& path);

}
