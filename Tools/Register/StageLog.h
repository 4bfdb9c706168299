#pragma once

#include "Core/Runs/RunSummary.h"
#include "Tools/Register/RegisterOptions.h"

// The lines that elastix writes to its log at the begin and the end of a stage.
namespace tessera {

/// `stage` counts from 0.
void logStageStart(const RegisterOptions&, const StageText&, std::size_t stage, const std::string& folder,
                   Log&);

/// The lines of a transform file, whose text comes in pieces, less lists of many numbers.
std::vector<std::string> linesForLog(const std::vector<std::string>& pieces, const std::string& path);
void logTransformFile(const std::vector<std::string>& lines, Log&);

void logStageEnd(const StageSummary&, std::size_t stage, Log&);

}
