#pragma once

#include "Core/Registry/Registry.h"
#include "Tools/Common/InputFiles.h"
#include "Tools/Common/RunLog.h"
#include "Tools/Register/RegisterOptions.h"
#include "Tools/Register/StageInputs.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera {

/// A parameter file as it was read.
struct StageText {
  std::string path, text;
  std::shared_ptr<const ParameterMap> map;
};

/// Reads every -p. Throws Error(usage) with file and line; a dimension that is not built is refused here.
std::vector<StageText> readStages(const std::vector<std::string>& paths, RunLog&);

/// What a stage does with the points of -fp and -mp.
struct NeededPoints {
  bool pairs = false;     // a metric compares them
  bool landmarks = false; // those of the fixed image make the transform; the others may start it
};

/// Finds all that can be found before voxels are read: unknown components and parameters, values out of
/// bounds, counts of images, masks and metrics that do not fit, result formats that cannot hold the result,
/// results that would be written over an input. Warnings and notes go to the log.
template <int D>
NeededPoints checkStage(const Registry&, const RegisterOptions&, const StageText&, std::size_t stage,
                        const InputHeaders&, const InputFiles&, RunLog&);

}
