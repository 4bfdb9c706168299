#pragma once

#include "Core/Registration/Resampler.h"
#include "Tools/Common/InputFiles.h"
#include "Tools/Register/RegisterOptions.h"
#include "Tools/Register/StageSettings.h"

#include <string>

namespace tessera {

constexpr const char* logName = "elastix.log";
constexpr const char* summaryName = "summary.json";

/// All files that a run with these options reads.
InputFiles inputFilesOf(const RegisterOptions&);

/// Throws Error(usage) if the log or the summary would be written over an input.
void checkInputsStay(const InputFiles&, const std::string& folder);

/// The settings on which the names of a stage's files depend.
template <int D>
struct StageNaming {
  std::string given; // "-p bspline.txt"
  std::size_t stage = 0, levels = 1;
  const StageSettings& settings;
  const Resampler<D>& resampler;
};

/// Throws Error(usage) if a file of the stage may be written over an input: an interrupted run writes the
/// transform of its last level, too.
template <int D>
void checkInputsStay(const InputFiles&, const std::string& folder, const StageNaming<D>&);

}
