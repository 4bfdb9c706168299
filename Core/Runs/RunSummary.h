#pragma once

#include "Core/Compute/Failure.h"
#include "Core/Registration/Reporter.h"
#include "Core/Runs/EffectiveParameters.h"
#include "Core/Runs/Inputs.h"
#include "Core/Runs/Report/RunPage.h"
#include "Core/Runs/RunQuality.h"
#include "Core/Runs/RunRecord.h"
#include "Core/Runs/VolumeChange.h"

#include <nlohmann/json_fwd.hpp>

#include <optional>
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
  bool isSeries = false;                    // it compared times of one image, along its last axis
  std::vector<std::string> files;           // that the listener has written
};

/// Tells how the volumes of a series were registered.
struct SeriesFigures {
  std::size_t volumes = 0, failed = 0;
  double correlation = 0;                        // the mean of those that have a result
  std::optional<double> framewiseDisplacementMm; // the mean; none: their transforms are not rigid
};

/// What a run has done so far.
struct RunSummary {
  std::string device, deviceReason; // of the last stage
  int threads = 1;
  double readingSeconds = 0;
  SharesOutside pointsOutside;
  std::vector<StageSummary> stages;
  std::optional<RunQuality> quality;   // of the last stage's result
  std::optional<RunPictures> pictures; // if the request asks for them
  std::optional<SeriesFigures> series; // of RunRequest::seriesReference

  std::vector<StageCurves> curves() const
  {
    std::vector<StageCurves> all;
    for (const StageSummary& stage : stages) {
      StageCurves& curves = all.emplace_back();
      for (const LevelSummary& level : stage.levels)
        curves.push_back(level.curve);
    }
    return all;
  }
};

/// What the record of a run tells beside its request and its summary.
struct RecordFacts {
  std::string command, started, finished;
  double seconds = 0;
  Failure failure;                   // code 0: there was none
  std::string failedInput;           // the input that its message names; empty: none
  std::vector<InputDigest> digests;  // of the input files
  std::vector<std::string> files;    // beside those of the stages
  std::vector<std::string> warnings; // of the log
  FileDigest digestOfOutput = digestOfFile;
};

/// The record of a run: dox/run.schema.json. `provenance` has versions, host and job. Digests of outputs are
/// made of the files that the stages name.
nlohmann::ordered_json recordOf(const RunRequest&, const InputHeaders&, const RunSummary&, const RecordFacts&,
                                const nlohmann::ordered_json& provenance);

}
