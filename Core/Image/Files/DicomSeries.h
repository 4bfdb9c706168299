#pragma once

#include "Core/Image/Files/ReadingOptions.h"

#include <string>
#include <vector>

namespace tessera {

/// The files of one DICOM series, ordered along the normal of its slices, each with its place on an even
/// grid.
struct DicomSeries {
  std::vector<std::string> files;
  std::vector<std::size_t> places; // 0, 1, 2, ... unless slices are missing
  std::vector<std::string>
      others;       // files whose values are stored or rescaled in another way than the first's
  std::string note; // for the user; mostly empty
};

/// The series that is meant by a path for which there is a dicomPlace. Throws Error(unreadableInput): no
/// series, several of which none is named, or slices that are missing, unless
/// ReadingOptions::allowMissingSlices.
DicomSeries dicomSeriesOf(const std::string& path, const ReadingOptions&);

/// Turns off the lines that GDCM writes to the terminal about files that it reads.
void quietenGdcm();

}
