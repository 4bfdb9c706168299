#pragma once

#include "Core/Compute/Log.h"
#include "Tools/Cohort/CohortFolder.h"
#include "Tools/Cohort/CohortOptions.h"
#include "Tools/Cohort/CohortRows.h"
#include "Tools/Cohort/DigestCache.h"
#include "Tools/Cohort/RowClaim.h"

#include <deque>
#include <functional>
#include <optional>

namespace tessera {

/// The table of a cohort and the folder of its results, whose cohort.json the first run writes and the others
/// compare with.
class OpenCohort {
public:
  /// Throws Error(usage) if the table has errors, if the folder has the results of another table or of
  /// another kind of device, or if --again names no row.
  OpenCohort(const CohortOptions&, Log&);

  const Manifest& manifest() const { return manifest_; }
  std::size_t rowCount() const { return mine_.size(); } // of this shard
  const ManifestRow& row(std::size_t index) const { return manifest_.rows[index]; }
  const CohortFolder& folder() const { return folder_; }
  std::string rowFolder(std::size_t index) const { return folder_.rowFolder(row(index).id); }
  RowClaim claim(std::size_t index) const;
  /// "cpu" or "cuda"
  std::string kindOf(std::size_t index) const { return deviceKindOf(row(index), file_.deviceKind); }
  RowState state(std::size_t index, bool isVerified, std::optional<RowRecord>&);

  /// Rows of this shard that must run, the largest first, so that the last ones are short. Calls
  /// visit(index, state, record) for the others, and for those of them that were done before.
  std::deque<std::size_t>
  waitingRows(const std::function<void(std::size_t, RowState, const RowRecord&)>& visit);

  /// The GPUs that processes of this machine may see, for CUDA_VISIBLE_DEVICES.
  const std::vector<std::string>& gpus();

  void keepDigests(const std::vector<KnownDigest>&);

private:
  void settleCohortFile();
  void checkRows() const;
  bool isAskedAgain(const std::string& id, RowState) const;

  const CohortOptions& options_;
  Manifest manifest_;
  CohortFolder folder_;
  std::string digestFolder_;
  DigestCache digests_;
  CohortFile file_;
  std::optional<std::vector<std::string>> gpus_; // once they were looked for
  std::vector<std::size_t> mine_;                // rows of this shard
};

}
