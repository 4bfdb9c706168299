#pragma once

#include "Core/Registration/Reporter.h"
#include "Tools/Common/Process.h"
#include "Tools/Register/StageInputs.h"
#include "Tools/Register/VolumeChange.h"

#include <chrono>
#include <string>
#include <vector>

namespace tessera {

/// The results of one stage.
struct StageSummary {
  std::string parameterFile, device, deviceReason, transform, optimizer;
  std::vector<std::string> metrics;
  std::vector<LevelSummary> levels;
  double finalMetric = 0, seconds = 0, writingSeconds = 0;
  std::optional<VolumeChange> volumeChange; // none: the transform is linear
  std::vector<std::string> files;
};

/// The results of a run, for programs that read summary.json.
struct RunSummary {
  std::chrono::steady_clock::time_point clock = std::chrono::steady_clock::now(); // when the run started
  std::string command, started, finished, device, deviceReason; // the device of the last stage
  int threads = 1;
  double seconds = 0, readingSeconds = 0;
  Failure failure;         // code 0: there was none
  std::string failedInput; // the input that its message names; empty: none
  InputHeaders inputs;
  std::string initialTransform, fixedPoints, movingPoints, log; // empty: none
  std::vector<StageSummary> stages;
  std::vector<std::string> warnings;
};

/// Writes summary.json, whole or not at all. Throws Error(unwritableOutput).
void writeSummary(const std::string& path, const RunSummary&);

}
