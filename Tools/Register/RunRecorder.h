#pragma once

#include "Core/Image/Files/OutputDigests.h"
#include "Core/Runs/InputDigests.h"
#include "Core/Runs/RunSummary.h"
#include "Tools/Register/RegisterOptions.h"

#include <chrono>
#include <string>
#include <vector>

namespace tessera {

/// The record of a run in its output folder: run.json, summary.json with the same bytes, and the page.
class RunRecorder {
public:
  /// For a run that begins now. `folder` has a slash at its end.
  RunRecorder(const RegisterOptions&, std::string folder, std::vector<RunInput> inputs,
              FileDigest = digestOfFile);

  InputDigests digestsOfInputs;
  OutputDigests digestsOfOutputs;
  InputHeaders headers;      // as far as they were read
  RunSummary summary;        // of the run, as far as it came
  std::string lastTransform; // the file that a run that did not end has kept

  /// Writes the page if there is one, then the record: each whole or not at all. A run that failed tells why
  /// before large inputs are read. Throws Error(unwritableOutput).
  void write(const Failure&, const std::vector<std::string>& warnings);

private:
  const RegisterOptions& options_;
  const std::string folder_, started_;
  const std::chrono::steady_clock::time_point clock_ = std::chrono::steady_clock::now();
};

/// Leaves the record of a run that could not write its own, such as one whose process crashed.
void recordFailure(const RegisterOptions&, const Failure&);

/// For a command line that is wrong: if the output folder has the record of an earlier run, that of this
/// failure takes its place, so that nobody takes the earlier run for this one.
void replaceRecord(const RegisterOptions&, const Failure&);

}
