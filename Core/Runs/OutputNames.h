#pragma once

#include "Core/Compute/Files/InputFiles.h"
#include "Core/Image/Files/FilesOfImage.h"
#include "Core/Registration/Resampler.h"
#include "Core/Runs/RunRecord.h"
#include "Core/Runs/RunRequest.h"
#include "Core/Runs/StageSettings.h"

#include <functional>
#include <string>

namespace tessera {

constexpr const char* logName = "elastix.log";
constexpr const char* summaryName = "summary.json";
constexpr const char* runName = "run.json";

/// The part of a file's name for a level, ".R1", and for an iteration of it, ".R1.It0000012".
std::string levelSuffix(std::size_t level);
std::string iterationSuffix(std::size_t level, std::size_t iteration);

/// The files of an inverse: its transform, with the number of the last stage, and the labels that it carries.
constexpr const char *inverseStem = "InverseTransformParameters", *inverseLabelsStem = "inverseLabels";
std::string stemOfInverse(const RunRequest&);
std::vector<std::string> namesOfInverse(const RunRequest&, const std::string& resultFormat);

/// All that a run reads, by role, in the order that runKey() needs. `filesOf` tells the files of an image.
std::vector<RunInput>
runInputsOf(const RunRequest&,
            const std::function<std::vector<std::string>(const std::string& path)>& filesOf = filesOfImage);

/// The files of all inputs.
InputFiles inputFilesOf(const std::vector<RunInput>&);

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
