#pragma once

#include "Core/Compute/Files/DiskRoom.h"
#include "Core/Compute/Files/InputFiles.h"
#include "Core/Compute/Log.h"
#include "Core/Registration/Resampler.h"
#include "Core/Registration/Stage/PreparedStage.h"
#include "Core/Registry/Registry.h"
#include "Core/Runs/Inputs.h"
#include "Core/Runs/RunRequest.h"
#include "Core/Runs/StageSettings.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tessera {

/// The points of -fp and -mp that a stage uses.
struct NeededPoints {
  bool pairs = false;     // a metric compares them
  bool landmarks = false; // the fixed points make the transform, and the moving points may start it
};

/// A stage that passed the check. All that its run uses of its parameter file is in it, each component made
/// once.
template <int D>
struct CheckedStage {
  StageText text;
  std::size_t number = 0; // from 0, in the order of -p
  StageSettings settings;
  PreparedStage<D> prepared;
  DeviceChoice wanted{{}, "cpu"}; // the device asked for, whether or not all levels fit there
  std::unique_ptr<Resampler<D>> resampler = nullptr; // which makes the result image, with the interpolator
  std::unique_ptr<Interpolator<D>> resampleInterpolator = nullptr;
  NeededPoints needed = {};
};

/// Finds all that can be found before voxels are read: unknown components and parameters, values out of
/// bounds, counts of images, masks and metrics that do not fit, result formats that cannot hold the result,
/// results that would be written over an input. Warnings and notes go to the log. The device is not chosen
/// yet: see StageDevice.h.
template <int D>
CheckedStage<D> checkStage(const Registry&, const RunRequest&, const StageText&, std::size_t number,
                           const InputHeaders&, const InputFiles&, Log&);

/// The result images of the stages, in the order in which they are written to `folder`.
template <int D>
std::vector<ResultToWrite> resultsToWrite(std::span<const CheckedStage<D>> stages, const std::string& folder,
                                          const InputHeaders&);

/// Throws Error(usage) if a stage is to write a transform to a file of ITK that cannot hold it. `initial` is
/// the transform of -t0; null: none.
template <int D>
void checkItkFiles(std::span<const CheckedStage<D>> stages, const TransformChain<D>* initial);

}
