#pragma once

#include "Core/Compute/Log.h"
#include "Core/Runs/Report/CohortVerdicts.h"
#include "Tools/Cohort/CohortOptions.h"

#include <string>
#include <vector>

namespace tessera {

/// One registration in the index of a cohort.
struct CohortRow {
  std::string id;
  Figures figures;                                             // figuresOf(run.json)
  std::vector<std::pair<std::string, std::string>> covariates; // name and value
  Judgement alone;                                             // judgedAlone(run.json)
  double seconds = 0;
  std::string page, thumbnail; // paths relative to the index's folder; empty: none
  Judgement judgement;         // by judgeCohort
};

/// Sets the verdict of each row: that of the row alone, and `look` also by judgedInCohort beside all rows
/// that are done. Sorts them: failed ones first, then those to look at, each by how far they are from the
/// cohort. Returns what they were compared with.
CohortSpread judgeCohort(std::vector<CohortRow>&);

constexpr std::size_t maxRowsOfSingleFile = 500;

struct IndexOptions {
  std::string title = "Registrations";
  bool singleFile = false; // thumbnails inside the page
};

/// Writes `<folder>/index.html` of rows in the order of judgeCohort, which sets `spread`. The order of the
/// file is the order that is shown without scripts; a script of the page sorts by any column, filters, and
/// saves ratings as ratings.tsv. Thumbnails (288x96) are files beside it, loaded when they come into view.
/// Throws Error(usage) for more rows in a single file than maxRowsOfSingleFile, Error(unreadableInput) for a
/// thumbnail that cannot be put into it, Error(unwritableOutput).
void writeCohortIndex(const std::string& folder, const std::vector<CohortRow>&, const CohortSpread& spread,
                      const IndexOptions& = {});

/// The part of a row's page about its cohort, in HTML: links to the index and to the pages before and
/// after it in the order of the index, its verdict by itself and beside the others, and its figures beside
/// their medians.
std::string cohortPart(const std::vector<CohortRow>&, std::size_t row, const CohortSpread&);

/// `tessera-cohort report`: writes index.html, the rows of a cohort with the worst first, with links to the
/// pages that `tessera --report` has made of them.
int writeReport(const CohortOptions&, Log&);

}
