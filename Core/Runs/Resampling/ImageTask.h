#pragma once

#include "Core/Image/Files/ImageHeader.h"
#include "Core/Runs/RunRequest.h"

#include <cstddef>
#include <optional>
#include <string>

namespace tessera {

constexpr std::size_t voxelsAChunk = std::size_t(1) << 16; // of a loop over all voxels of an image

/// An image or a label map that a batch resamples, and the name of its result.
struct ImageTask {
  std::string option; // that named it, such as "-in"; it begins messages
  GivenImage input;
  bool isLabels = false;
  std::string outputStem; // file name of the result without folder and format
  ReadingOptions reading;
  std::size_t number = 0;                 // among the images of the batch, from 0
  std::optional<ImageHeader> header = {}; // empty until headerOf() has read it
};

/// The header of the task's image, read at the first call. Throws as readImageHeader and checkInMemory.
const ImageHeader& headerOf(ImageTask&);

/// The file name without folder and format: "a/b.c/brain.1.nii.gz" gives "brain.1". For a folder and for
/// a DICOM series in one its whole name.
std::string imageStem(const std::string& path);

}
