#pragma once

#include "Core/Compute/Math/SmallMatrix.h"
#include "Core/Image/Files/ReadingOptions.h"
#include "Core/Image/Voxels/PixelType.h"

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace gdcm {
class PixelFormat;
}

namespace tessera {

/// A plane of a DICOM file: its only image, or one of its frames.
struct DicomSlice {
  std::string file;
  std::size_t frame = 0;          // counted from 0
  std::string frameOfReference;   // the UID of the space of its place
  std::string name;               // for messages: the file, and the number of the frame if there are several
  bool isPlaced = false;          // whether the file says where it lies
  bool isPlacedBySpacing = false; // by Spacing Between Slices, as its frames do not say where they lie
  Vec<3> positionMm{};            // of the first pixel
  std::array<double, 6> axes{1, 0, 0, 0, 1, 0}; // direction cosines of its rows and of its columns
  std::array<double, 2> pixelSpacingMm{};   // between rows, between columns; 0 if the file does not say it
  double thicknessMm = 0;                   // 0 if the file does not say it, or has Spacing Between Slices
  double slope = 1, intercept = 0;          // value = slope * stored number + intercept
  bool hasOtherScale = false;               // a Real World Value Mapping with other numbers (C.7.6.16.2.11)
  bool isSegment = false;                   // so its empty frames may be left out (C.8.20.2)
  PixelType type = PixelType::float32;      // of these values
  double alongMm = 0;                       // the distance from the lowest slice of a stack along the normal
  std::map<std::string, std::string> kinds; // by their names: texts of what tells volumes apart
};

/// The slices of a file in their order. What a frame does not say in its functional groups holds for the file
/// (PS3.3, C.7.6.16). Frames without a place of their own are placed by Grid Frame Offset Vector (C.8.8.3.2)
/// or Spacing Between Slices. Throws Error(unreadableInput), also if stored numbers have a meaning that is
/// not applied.
std::vector<DicomSlice> slicesOfFile(const std::string& path);

/// Throws Error(unreadableInput) for a file on which GDCM ends the process, or whose colours are none that
/// are read.
void checkForGdcm(const std::string& path);

/// Returns the cross product of two vectors of three numbers.
Vec<3> crossProduct(const double* a, const double* b);

/// The type of a slice's values where its numbers are stored in this format.
PixelType valueType(const DicomSlice&, const gdcm::PixelFormat& stored);

/// Turns off the lines that GDCM writes to the terminal about files that it reads.
void quietenGdcm();

/// The slices of one volume, ordered along their normal, each with its place on an even grid.
struct DicomSeries {
  std::vector<DicomSlice> slices;
  std::vector<std::size_t> places; // 0, 1, 2, ... unless slices are missing
  std::vector<std::string> notes;  // for the user
};

/// The slices of a file, or of the series that is meant by a path for which there is a dicomPlace. Throws
/// Error(unreadableInput): no series, several of which none is named, slices that are no stack or of which
/// some are missing, unless ReadingOptions::allowMissingSlices.
DicomSeries dicomSeriesOf(const std::string& path, const ReadingOptions&);

}
