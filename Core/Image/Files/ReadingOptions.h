#pragma once

#include <string>
#include <vector>

namespace tessera {

/// Facts about image files that the files do not hold and that a user may state, for all images of a run.
struct ReadingOptions {
  std::vector<std::string> dicomSeries; // UIDs or descriptions of the series to read from folders of several
  bool allowMissingSlices = false;      // of a DICOM folder; they are filled in from their neighbours
  // Of JPEG, PNG, TIFF and BMP: for all axes, or for each; empty: the file's.
  std::vector<double> pixelSpacingMm = {};
  bool framesAreSlices = false; // the pictures of a TIFF file at several times lie along its third axis
};

}
