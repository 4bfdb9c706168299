#pragma once

#include "Core/Runs/Report/CohortVerdicts.h"
#include "Core/Runs/Report/SlicePictures.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace tessera {

constexpr const char* pageName = "report.html";
constexpr const char* thumbnailName = "thumbnail.jpg"; // beside it

/// The metric at each iteration of each level of a stage.
using StageCurves = std::vector<std::vector<double>>;

/// A page in HTML that shows a run: one file without network, which is complete without scripts. `run` is
/// what run.json says. Pictures may be null, as for a run that failed.
std::string runPage(const nlohmann::ordered_json& run, const RunPictures*, const std::vector<StageCurves>&);

/// Whether the result is of the times of one image, along its last axis.
bool isOfSeries(const nlohmann::ordered_json& run);

/// A verdict with its reasons and notes.
std::string verdictHtml(const Judgement&);

/// Puts text in HTML in place of the verdict of a page, which tells of the run alone, or of what was put
/// there before. The page stays as it is if it has no such part.
std::string withCohortPart(const std::string& page, const std::string& html);

}
