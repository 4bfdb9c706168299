#pragma once

#include "Core/Compute/Log.h"
#include "Tools/Cohort/CohortFolder.h"
#include "Tools/Cohort/CohortOptions.h"

#include <string>

namespace tessera {

/// A text as a value of a table: tabs and ends of lines become blanks.
std::string asField(std::string text);

/// Writes failures.tsv, or removes it if no row has failed. Other processes may have failed rows too, so it
/// goes by the records in the folder. Returns whether it is there.
bool writeFailures(const Manifest&, const CohortFolder&);

/// `tessera-cohort status`: how many rows are done, failed, running and waiting, and the causes of failures.
int tellStatus(const CohortOptions&, Log&);

/// `tessera-cohort table`: writes results.tsv, a line a row with its covariates and every figure of quality,
/// and labels.tsv, a line for each label of each row.
int writeTables(const CohortOptions&, Log&);

/// `tessera-cohort slurm`: writes a script for a job array into the folder of results. It submits nothing.
int writeSlurmScript(const CohortOptions&, const std::string& program, Log&);

}
