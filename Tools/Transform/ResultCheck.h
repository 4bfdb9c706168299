#pragma once

#include "Core/Compute/Log.h"
#include "Core/Registration/Resampler.h"
#include "Core/Runs/Resampling/ImageTask.h"
#include "Tools/Transform/TransformOptions.h"

#include <string>
#include <vector>

namespace tessera {

/// The images and fields that a run is asked for.
template <int D>
struct ResultsAsked {
  const TransformOptions& options;
  const Resampler<D>& resampler;
  const Parameters& parameters; // those of the transform file
  const ImageGeometry<D>& grid; // of all results
  const std::string& folder;
  const std::vector<ImageTask>& tasks;
};

/// Checks before any work that the format of the results can hold them, and the disk too. Throws Error(usage)
/// for the one and Error(unwritableOutput) for the other; warns of what a format does not keep, and if the
/// disk may be too small.
template <int D>
void checkResults(const ResultsAsked<D>&, Log&);

}
