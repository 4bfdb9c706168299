#pragma once

#include "Core/Compute/Files/DiskRoom.h"
#include "Core/Compute/Files/InputFiles.h"
#include "Core/Registration/Resampler.h"
#include "Core/Runs/Resampling/ImageTask.h"
#include "Core/Runs/Transforming/TransformDevice.h"

#include <string>
#include <vector>

namespace tessera {

/// The file of --describe-transform, in the output folder.
constexpr const char* descriptionName = "transform.json";
/// The file to which points of this file are mapped.
std::string nameOfOutputPoints(const std::string& path);

/// The output folder with a slash at its end; empty: there is none.
std::string folderOf(const TransformRequest&);

/// All files that a run reads.
InputFiles inputFilesOf(const TransformRequest&);

/// Throws Error(usage) if something is asked for that transforms in 4D lack. Inverses and linear parts refuse
/// it themselves.
void refuseIn4D(const TransformRequest&);

/// The images of a request, label maps last, with the names of their results. A single image that no list
/// names gets the name of the settings; others keep the stems of their own names. With an output folder it
/// throws Error(usage) if two results would have the same name, or one would be written over an input.
std::vector<ImageTask> namedImages(const TransformRequest&, const ResultImageSettings&);

/// What a run will do.
struct TransformPlan {
  TransformDevice device;
  ResultImageSettings settings;       // of the results
  std::vector<ResultToWrite> results; // images and fields
};

/// The images and fields that a request asks for. Label maps keep their type, which is not known yet: they
/// count a byte a voxel.
template <int D>
std::vector<ResultToWrite> resultsOf(const TransformRequest&, const ResultImageSettings&,
                                     const std::vector<ImageTask>&, const ImageGeometry<D>& grid);

/// Throws Error(usage) if the format of the results cannot hold them. `parameters` are those of the transform
/// file.
template <int D>
void checkFormat(const TransformRequest&, const ResultImageSettings&, const Parameters& parameters,
                 const ImageGeometry<D>& grid);

}
