#pragma once

#include "Core/Compute/Files/InputFiles.h"
#include "Core/Image/Points/PointsOutside.h"
#include "Core/Registration/Reporter.h"
#include "Tools/Common/Process.h"
#include "Tools/Transform/TransformOptions.h"

#include <chrono>
#include <functional>
#include <mutex>
#include <stop_token>
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

  void setDevice(const std::string& device, const std::string& reason);
  /// Where the time of the run went.
  void setTime(const std::vector<TimeRow>&);
  void setPointsOutside(const SharesOutside&);
  /// Files that the run will write, or has written; the record lists those that it has written.
  void addOutputs(const std::vector<std::string>& paths, bool areWritten = false);
  /// The share of a result that lies outside of the image at `path`.
  void addOutside(const std::string& path, double share);

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
  std::string folder_, started_, device_, deviceReason_;
  std::chrono::steady_clock::time_point clock_ = std::chrono::steady_clock::now();
  std::vector<std::pair<std::string, ino_t>> outputs_; // with the number of the file that was there before
  std::vector<TimeRow> time_;
  SharesOutside pointsOutside_;
  std::vector<std::pair<std::string, double>> outside_;
  std::stop_source stop_;
  std::mutex mutex_;
};

}
