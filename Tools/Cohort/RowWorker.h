#pragma once

#include "Core/Image/Files/DecoderProcess.h"
#include "Core/Runs/RunRequest.h"
#include "Tools/Cohort/DigestCache.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace tessera {

/// The answer of a worker about a row that has ended.
struct RowAnswer {
  std::size_t row = 0;
  int exitCode = 0;
  std::string message;
  std::vector<KnownDigest> digests; // that it had to compute
  bool isBusy = false;              // another process writes to its folder
};

/// A process of its own that registers rows, several at once if it has several lanes. It sees one GPU at
/// most, and ends with the process that has started it.
class RowWorker {
public:
  /// `gpu`: for CUDA_VISIBLE_DEVICES; empty: none is to be seen. Throws std::system_error.
  RowWorker(const std::string& gpu, int lanes);
  ~RowWorker();
  RowWorker(const RowWorker&) = delete;
  RowWorker& operator=(const RowWorker&) = delete;

  int socket() const { return line_->socket(); }
  int lanes() const { return lanes_; }
  const std::vector<std::size_t>& rows() const { return rows_; } // that it works on

  void start(std::size_t row, const RunRequest&);
  /// The next answer if it is there. Empty: not yet, or the process has ended (hasEnded()).
  std::optional<RowAnswer> answer();
  bool hasEnded() const { return hasEnded_; }

  /// About the bytes of host memory that a row takes; 0 if its headers cannot be read. Waits for the answer.
  double hostBytes(const RunRequest&);
  /// How many GPUs it sees. Waits for the answer.
  int gpuCount();

  void signal(int number) const;
  /// Waits for the end and returns its wait status (waitpid(2)).
  int end();

private:
  nlohmann::ordered_json ask(const nlohmann::ordered_json& question);

  pid_t process_ = -1;
  int lanes_ = 1;
  bool hasEnded_ = false;
  std::optional<ProcessLine> line_;
  std::vector<std::size_t> rows_;
};

/// Returns the answer for a row whose process ended twice, with this wait status (waitpid(2)).
RowAnswer answerOfDeath(std::size_t row, int state);

/// The other side: reads rows from standard input, which is the socket, until it ends.
int serveRows(int lanes);

}
