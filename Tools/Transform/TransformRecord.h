#pragma once

#include "Core/Compute/Files/InputFiles.h"
#include "Core/Image/Files/OutputDigests.h"
#include "Core/Image/Points/PointsOutside.h"
#include "Core/Registration/Reporter.h"
#include "Core/Runs/InputDigests.h"
#include "Tools/Common/Process.h"
#include "Tools/Transform/TransformOptions.h"

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace tessera {

/// The record of a run of `tessera-transform`, transform-run.json: dox/transform-run.schema.json.
class TransformRecord {
public:
  static constexpr const char* name = "transform-run.json";

  /// Throws Error(usage) if the record would be written over an input.
  static void checkStay(const InputFiles&, const std::string& folder);

  /// Replaces the record of an earlier run in a folder, if there is one, for a run that failed before it
  /// could have its own. Throws nothing.
  static void replace(const std::string& folder, const std::string& commandLine, const Failure&);

  /// Removes the record of an earlier run in the folder.
  TransformRecord(const TransformOptions&, std::string folder);
  ~TransformRecord();
  TransformRecord(const TransformRecord&) = delete;
  TransformRecord& operator=(const TransformRecord&) = delete;

  OutputDigests digestsOfOutputs;

  struct Found {
    std::string device, deviceReason;
    std::vector<TimeRow> time; // where that of the run went
    SharesOutside pointsOutside;
    std::vector<std::pair<std::string, double>> outside; // by image, the share of its result outside of it
  };
  /// Calls change(found) for what the record will tell.
  template <class Change>
  void tell(Change&& change)
  {
    const std::lock_guard lock(mutex_);
    change(found_);
  }
  /// Files that the run will write, or has written; the record lists those that it has written.
  void addOutputs(const std::vector<std::string>& paths, bool areWritten = false);

  /// Calls run() and writes the record, whole or not at all, whether it returns a code or throws. Throws
  /// Error(unwritableOutput).
  int recorded(Log&, const std::function<int()>& run);

  /// Writes the record of the run that goes on, if there is one, from the thread that ends the program.
  static void writeInterrupted(int signal);

private:
  std::string text(const Failure&, const std::vector<std::string>& warnings);
  /// `settles`: from then on a signal changes neither the record nor the exit code.
  void write(const Failure&, const std::vector<std::string>& warnings, bool settles = false);

  const TransformOptions& options_;
  InputDigests digestsOfInputs_;
  std::string folder_, started_;
  std::chrono::steady_clock::time_point clock_ = std::chrono::steady_clock::now();
  std::vector<std::pair<std::string, ino_t>> outputs_; // with the number of the file that was there before
  Found found_;
  std::mutex mutex_;
};

}
