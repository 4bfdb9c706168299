#pragma once

#include "Tools/Common/RunLog.h"
#include "Tools/Register/RegisterOptions.h"
#include "Tools/Register/RunSummary.h"
#include "Tools/Register/StageCheck.h"

// The lines that elastix writes to its log at the begin and the end of a stage.
namespace tessera {

void logOptions(const RegisterOptions&, const std::string& folder, RunLog&);

void logParameterText(const StageText&, RunLog&);

/// The transform file that was just written, less lists of many numbers.
void logTransformFile(const std::string& path, RunLog&);

/// `stage` counts from 0.
void logStageEnd(const StageText&, const StageSummary&, std::size_t stage, RunLog&);

}
