#include "Tools/Cohort/CohortReport.h"

#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/Files/TextFile.h"
#include "Core/Runs/Report/RunPage.h"
#include "Tools/Cohort/CohortFolder.h"
#include "Tools/Cohort/RowClaim.h"
#include "Tools/Report/CohortIndex.h"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <iterator>

namespace tessera {
namespace {

constexpr std::chrono::seconds claimAge{600};

/// The path of a file of a row relative to the index; empty if there is none.
std::string relativePath(const CohortFolder& folder, const std::string& rowFolder, const std::string& name)
{
  return std::filesystem::exists(rowFolder + name) ? rowFolder.substr(folder.path().size()) + name : "";
}

CohortRow indexRow(const CohortFolder& folder, const Manifest& manifest, const ManifestRow& given)
{
  const std::string& id = given.id;
  CohortRow row;
  row.id = id;
  for (std::size_t i = 0; i < given.covariates.size(); ++i)
    row.covariates.emplace_back(manifest.covariates[i], given.covariates[i]);
  row.alone = {Verdict::waiting, {"it has not run yet"}, {}};
  const std::string rowFolder = folder.rowFolder(id);
  if (const std::optional<RowRecord> record = readRowRecord(rowFolder)) {
    row.seconds = record->seconds;
    readJson(rowFolder, *record, [&](const nlohmann::ordered_json& run) {
      row.figures = figuresOf(run);
      row.alone = judgedAlone(run);
    });
    row.page = relativePath(folder, rowFolder, pageName);
    row.thumbnail = relativePath(folder, rowFolder, thumbnailName);
  }
  return row;
}

/// Puts what is known of the cohort into the page of a row, unless a process works on the row.
void tellOfCohort(const CohortFolder& folder, const std::vector<CohortRow>& rows, std::size_t i,
                  const CohortSpread& spread)
{
  if (rows[i].page.empty() || RowClaim(folder.rowFolder(rows[i].id), claimAge).isTaken())
    return;
  const std::string path = folder.file(rows[i].page);
  const TextFile page = readTextFile(path);
  if (const std::string told = withCohortPart(page.text, cohortPart(rows, i, spread));
      page.failure.empty() && told != page.text)
    writeTextFile(path, told);
}

}

int writeReport(const CohortOptions& options, Log& log)
{
  const CohortResults results = cohortResultsIn(options.operand);
  std::vector<CohortRow> rows;
  for (const ManifestRow& row : results.manifest.rows)
    rows.push_back(indexRow(results.folder, results.manifest, row));
  const CohortSpread spread = judgeCohort(rows);
  std::size_t failed = 0, conspicuous = 0;
  for (const CohortRow& row : rows) {
    failed += row.judgement.verdict == Verdict::failed;
    conspicuous += row.judgement.verdict == Verdict::look;
  }
  writeCohortIndex(results.folder.path(), rows, spread,
                   {"Registrations in " + options.operand, options.singleFile});
  for (std::size_t i = 0; i < rows.size(); ++i)
    tellOfCohort(results.folder, rows, i, spread);
  log.info("Wrote " + results.folder.file("index.html") + ": of " + std::to_string(rows.size()) + " rows "
           + std::to_string(failed) + " failed, " + std::to_string(conspicuous) + " are to be looked at.");
  return 0;
}

}
