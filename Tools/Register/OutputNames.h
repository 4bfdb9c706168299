#pragma once

#include "Core/Image/Files/FilesOfImage.h"
#include "Core/Registration/Resampler.h"
#include "Tools/Common/InputFiles.h"
#include "Tools/Common/RunRecord.h"
#include "Tools/Register/RegisterOptions.h"
#include "Tools/Register/StageSettings.h"

#include <functional>
#include <string>

namespace tessera {

constexpr const char* logName = "elastix.log";
constexpr const char* summaryName = "summary.json";
constexpr const char* runName = "run.json";

/// All files that a run with these options reads.
InputFiles inputFilesOf(const RegisterOptions&);

/// The input files by role, in the order that runKey() needs. `filesOf` tells the files of an image.
std::vector<RunInput>
runInputsOf(const RegisterOptions&,
            const std::function<std::vector<std::string>(const std::string& path)>& filesOf = filesOfImage);

/// The files that tell of a run: run.json and summary.json, and those of its page if there is one.
std::vector<std::string> namesOfRecord(bool hasPage);

/// Throws Error(usage) if the log or a file of the record would be written over an input.
void checkInputsStay(const InputFiles&, const std::string& folder, bool hasPage);

/// The input whose path a message holds; of several the longest path. Empty: none.
std::string inputNamedIn(const std::string& message, const InputFiles&);

/// The settings on which the names of a stage's files depend.
template <int D>
struct StageNaming {
  std::string given; // "-p bspline.txt"
  std::size_t stage = 0, levels = 1;
  const StageSettings& settings;
  const Resampler<D>& resampler;
  std::vector<std::string> further = {}; // names of files that the run writes after the stage
};

/// Throws Error(usage) if a file of the stage may be written over an input: an interrupted run writes the
/// transform of its last level, too.
template <int D>
void checkInputsStay(const InputFiles&, const std::string& folder, const StageNaming<D>&);

}
