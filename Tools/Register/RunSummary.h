#pragma once

#include "Core/Registration/Reporter.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/RunRecord.h"
#include "Tools/Register/EffectiveParameters.h"
#include "Tools/Register/RegisterOptions.h"
#include "Tools/Register/RunQuality.h"
#include "Tools/Register/StageInputs.h"
#include "Tools/Register/StageTime.h"
#include "Tools/Register/VolumeChange.h"
#include "Tools/Report/RunPage.h"

#include <chrono>
#include <future>
#include <string>
#include <vector>

namespace tessera {

/// The results of one stage.
struct StageSummary {
  std::string parameterFile, device, deviceReason, transform, optimizer;
  std::vector<std::string> metrics;
  std::vector<EffectiveParameter> parameters;
  std::vector<LevelSummary> levels;
  double finalMetric = 0, seconds = 0, writingSeconds = 0;
  std::optional<VolumeChange> volumeChange; // none: the transform is linear
  std::vector<std::string> files;
  StageCurves curves;
};

/// The results of a run, for programs that read run.json.
struct RunSummary {
  std::chrono::steady_clock::time_point clock = std::chrono::steady_clock::now(); // when the run started
  std::string command, started, finished, device, deviceReason; // the device of the last stage
  int threads = 1;
  double seconds = 0, readingSeconds = 0;
  Failure failure;         // code 0: there was none
  std::string failedInput; // the input that its message names; empty: none
  InputHeaders inputs;
  std::string initialTransform, fixedPoints, movingPoints, pointWeights, log; // empty: none
  std::vector<RunInput> inputFiles;
  FileDigest digestOfOne = digestOfFile;
  std::stop_source stopOfDigests;
  std::future<std::vector<InputDigest>> digests; // of the input files; none: these were not read
  std::string deviceAsked;                       // by --device
  PredictedRun predicted;
  std::vector<StageSummary> stages;
  std::optional<RunQuality> quality; // of the last stage's result
  std::vector<std::string> warnings;
  bool hasPage = false;                // whether report.html is to be written, too
  std::optional<RunPictures> pictures; // for it
};

std::vector<InputDigest> digestsOf(const RunSummary&);

/// Writes the page of the run if it has one, then summary.json and, with the same bytes, run.json: each whole
/// or not at all. Throws Error(unwritableOutput).
void writeSummary(const std::string& folder, RunSummary&);

/// That of a run that begins now.
RunSummary startOfSummary(const RegisterOptions&, const std::string& folder);

/// Leaves run.json of a run that could not write its own, such as one whose process crashed.
void recordFailure(const RegisterOptions&, const Failure&);

/// For a command line that is wrong: if the output folder has the record of an earlier run, that of this
/// failure takes its place, so that nobody takes the earlier run for this one.
void replaceRecord(const RegisterOptions&, const Failure&);

}
