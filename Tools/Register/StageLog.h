#pragma once

#include "Core/Compute/Log.h"
#include "Tools/Register/RegisterOptions.h"
#include "Tools/Register/RunSummary.h"
#include "Tools/Register/StageCheck.h"

// The lines that elastix writes to its log at the begin and the end of a stage.
namespace tessera {

void logOptions(const RegisterOptions&, const std::string& folder, Log&);

void logParameterText(const StageText&, Log&);

/// The transform file that was just written, less lists of many numbers.
void logTransformFile(const std::string& path, Log&);

/// `stage` counts from 0.
void logStageEnd(const StageText&, const StageSummary&, std::size_t stage, Log&);

}
