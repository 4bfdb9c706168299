#pragma once

#include "Core/Runs/RunSummary.h"
#include "Tools/Register/RegisterOptions.h"

// The lines that elastix writes to its log at the begin and the end of a stage.
namespace tessera {

/// `stage` counts from 0.
void logStageStart(const RegisterOptions&, const StageText&, std::size_t stage, const std::string& folder,
                   Log&);

/// The transform file that was just written, less lists of many numbers.
void logTransformFile(const std::string& path, Log&);

void logStageEnd(const StageSummary&, std::size_t stage, Log&);

}
