#pragma once

#include "Tools/Cohort/RowWorker.h"

#include <chrono>
#include <set>
#include <string>

namespace tessera {

/// Counts how the rows of a run have ended so far.
class CohortTally {
public:
  explicit CohortTally(std::size_t rows) : rows_(rows) {}

  /// For a row that this run need not do, since it was done before or elsewhere.
  void addSkipped() { ++skipped_; }
  void addDone();
  void addFailure(const std::string& id, const RowAnswer&);

  std::size_t skipped() const { return skipped_; }
  std::size_t failed() const { return failures_.size(); }
  /// How many rows in succession have failed with the same code and, but for paths and numbers, the same
  /// message.
  std::size_t alike() const { return alike_; }
  /// How many rows in succession have failed with the same code.
  std::size_t alikeInCode() const { return alikeInCode_; }

  /// "5 of 9 done, 1 failed, 2 running, 0.31 rows a second, about 6 s left"
  std::string line(std::size_t running, std::size_t left) const;

private:
  std::size_t rows_, skipped_ = 0, done_ = 0, alike_ = 0, alikeInCode_ = 0;
  int lastCode_ = 0;
  std::string lastFailure_;
  std::set<std::string> failures_; // ids
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}
