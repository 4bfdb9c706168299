#pragma once

#include "Tools/Cohort/Manifest.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tessera {

/// The folder of a cohort's results: cohort.json, manifest.tsv (a copy of the table), tables, and a folder
/// for each row.
class CohortFolder {
public:
  /// If there are more than 10,000 rows, those whose ids have the same two digits of a digest share a folder.
  /// `rows` is that of cohort.json, so that a table that has grown keeps the folders of its rows.
  CohortFolder(std::string path, std::size_t rows);

  const std::string& path() const { return path_; } // with a slash at its end
  std::string file(const std::string& name) const { return path_ + name; }
  /// The folder of a row, with a slash at its end.
  std::string rowFolder(const std::string& id) const;

private:
  std::string path_;
  bool isSplit_ = false;
};

/// The contents of cohort.json: what all runs of `tessera-cohort run` with this folder have in common.
struct CohortFile {
  std::string manifest;              // absolute path of the table
  std::string deviceKind;            // "cpu" or "cuda", for rows without a column `device`
  std::vector<std::string> defaults; // the options of the first run's command line
  std::string command;               // of the first run
  std::size_t rows = 0;
};

/// Empty if there is none. Throws Error(usage) if it is damaged or of another version.
std::optional<CohortFile> readCohortFile(const std::string& folder);
void writeCohortFile(const std::string& folder, const CohortFile&);

/// The part of a row's run.json that a cohort needs.
struct RowRecord {
  std::string status, message, key, finished, text; // text: the whole file
  int exitCode = 0;
  double seconds = 0;
  struct Output {
    std::string path, sha256;
    std::uint64_t bytes = 0;
  };
  std::vector<Output> outputs;
  std::map<std::string, std::string> digestOfInput; // by path

  bool isDone() const { return status == "done"; }
  /// Whether the same row would fail again in the same way: codes 1, 2 and 3.
  bool repeatsItsFailure() const { return status == "failed" && exitCode >= 1 && exitCode <= 3; }
};

[[noreturn]] void failDamagedRecord(const std::string& rowFolder);

/// Empty if there is no record, or none that can be read: the row is not done then.
std::optional<RowRecord> readRowRecord(const std::string& rowFolder);

/// Calls read() with the record as JSON. Throws Error(unreadableInput) if a value of it is of another kind
/// than that which runs write.
template <class Read>
auto readJson(const std::string& rowFolder, const RowRecord& record, const Read& read)
{
  try {
    return read(nlohmann::ordered_json::parse(record.text));
  } catch (const nlohmann::json::exception&) {
    failDamagedRecord(rowFolder);
  }
}

/// A folder of results with the table that it was made from.
struct CohortResults {
  CohortFolder folder;
  Manifest manifest;
};

/// Throws Error(unreadableInput) if the folder has no cohort.json.
CohortResults cohortResultsIn(const std::string& folder);

}
