#pragma once

#include "Core/Compute/Log.h"
#include "Core/Image/Files/ImageHeader.h"
#include "Core/Runs/RunRequest.h"

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

constexpr std::size_t voxelsAChunk = std::size_t(1) << 16; // of a loop over all voxels of an image

/// Volumes that are resampled one by one, and written as one file.
struct ResultSeries {
  ImageHeader header = {}; // of the file that is read; its axes beyond the third stay
  std::size_t volumes = 0, ready = 0;
  std::unique_ptr<std::byte[]> pixels = {}; // of all volumes
  bool hasFailed = false;                   // one of them could not be resampled
  std::mutex oneAtATime = {};
};

/// An image or a label map that a batch resamples, and the name of its result.
struct ImageTask {
  std::string option; // that named it, such as "-in"; it begins messages
  GivenImage input;
  bool isLabels = false;
  std::string outputStem; // file name of the result without folder and format
  ReadingOptions reading;
  std::size_t number = 0;                 // among the images of the batch, from 0
  std::optional<ImageHeader> header = {}; // empty until headerOf() has read it
  std::string format =
      {}; // of the result's file; colours that it holds stay colours, others become luminance
  std::optional<PixelType> ownType = {};     // of the result; empty: that of the batch
  std::shared_ptr<ResultSeries> series = {}; // null: the result is a file of its own
  std::size_t volume = 0;                    // of the series, from 0
  std::exception_ptr failure = {};           // not null: the series of this file cannot be resampled
  bool isExact = false; // whole numbers that float may not hold, which order 0 takes over as they are
  /// Reads an image that its file makes, with the notes on it; empty: the file itself is the image.
  std::function<GivenImage(const ImageTask&, std::vector<std::string>& notes, int threads)> load = {};
};

/// The header of the task's image, read at the first call. The components of colours that stay colours are
/// those of a vector. Throws as readImageHeader and checkInMemory.
const ImageHeader& headerOf(ImageTask&);

/// Replaces each file of more than three axes by its volumes, which are read, and numbers the tasks. Notes go
/// to the log. What is wrong with a file is kept in its task.
void splitSeries(std::vector<ImageTask>& tasks, PixelType ofResults, int threads, Log& log);

/// The file name without folder and format: "a/b.c/brain.1.nii.gz" gives "brain.1". For a folder and for
/// a DICOM series in one its whole name.
std::string imageStem(const std::string& path);

}
