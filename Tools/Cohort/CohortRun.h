#pragma once

#include "Core/Compute/Log.h"
#include "Tools/Cohort/CohortOptions.h"

namespace tessera {

constexpr int lanesOfGpu = 4; // rows at once on a GPU

/// Bytes of host memory that one machine needs for the rows that run there at once, so many on CPU and GPU:
/// the largest ones, with the processes beside them. 0 if no row can be planned. Warns of rows that would
/// fail.
double bytesOfRowsAtOnce(const CohortOptions&, std::size_t rowsAtOnce, Log&);

/// Checks all rows of a table without registering: `tessera-cohort check`. Returns 0, or 2 if a row would
/// fail.
int checkCohort(const CohortOptions&, Log&);

/// Registers the rows of a table that are not done: `tessera-cohort run`. Returns 0 if all are done now, 7 if
/// some failed, 4 if the disk is full, 128 + signal if it was stopped.
int runCohort(const CohortOptions&, Log&);

}
