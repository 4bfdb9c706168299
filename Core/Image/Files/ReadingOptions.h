#pragma once

#include <string>
#include <vector>

namespace tessera {

/// Facts about image files that the files do not hold and that a user may state, for all images of a run.
struct ReadingOptions {
  std::vector<std::string> dicomSeries; // UIDs or descriptions of the series to read from folders of several
  bool allowMissingSlices = false;      // of a DICOM folder; they are filled in from their neighbours
  // The pixels of JPEG, PNG, TIFF and BMP have this size along all axes, or along each; empty: the file's.
  std::vector<double> pixelSpacingMm = {};
  bool framesAreSlices = false; // the pictures of a TIFF file at several times lie along its third axis
};

}
