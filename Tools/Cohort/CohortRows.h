#pragma once

#include "Core/Runs/RunRequest.h"
#include "Tools/Cohort/CohortFolder.h"
#include "Tools/Cohort/CohortOptions.h"
#include "Tools/Cohort/DigestCache.h"

#include <optional>
#include <string>

namespace tessera {

/// The column `device` of a row, or what holds `forAll`.
std::string deviceKindOf(const ManifestRow&, const std::string& forAll);

/// What a row registers. The parameter files are named and not read.
RunRequest requestOf(const ManifestRow&, const CohortFolder&, const CohortOptions&, const std::string& device,
                     int threads);

enum class RowState {
  waiting, // has not run, or must run again
  done,    // its record has the key of these inputs, and its outputs are there
  failed,  // its record has the key of these inputs, and the same run would fail again
};

/// The state of a row, as its folder tells it. Files are read only if the cache does not know their digests.
/// `isVerified`: outputs are read and compared with their digests.
RowState rowState(const ManifestRow&, const CohortFolder&, const std::string& deviceKind, DigestCache&,
                  bool isVerified, std::optional<RowRecord>& record);

}
