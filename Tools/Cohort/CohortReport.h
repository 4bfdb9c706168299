#pragma once

#include "Core/Compute/Log.h"
#include "Tools/Cohort/CohortOptions.h"

namespace tessera {

/// `tessera-cohort report`: writes index.html, the rows of a cohort with the worst first, with links to the
/// pages that `tessera --report` has made of them.
int writeReport(const CohortOptions&, Log&);

}
