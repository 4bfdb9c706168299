#pragma once

#include "Tools/Cohort/CohortOptions.h"
#include "Tools/Common/RunLog.h"

namespace tessera {

/// `tessera-cohort report`: writes index.html, the rows of a cohort with the worst first, with links to the
/// pages that `tessera --report` has made of them.
int writeReport(const CohortOptions&, RunLog&);

}
