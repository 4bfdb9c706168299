#pragma once

#include <string>
#include <vector>

namespace tessera {

/// What a user may say of image files that do not say it themselves. It holds for every image that the
/// process reads, and is set before the first one.
struct ReadingOptions {
  std::vector<std::string> dicomSeries; // UIDs or descriptions of the series to read from folders of several
  bool allowMissingSlices = false;      // of a DICOM folder; they are filled in from their neighbours
  std::vector<double>
      pixelSpacingMm; // of JPEG, PNG, TIFF and BMP: for all axes, or for each; empty: the file's
};

void setReadingOptions(ReadingOptions);
const ReadingOptions& readingOptions();

}
