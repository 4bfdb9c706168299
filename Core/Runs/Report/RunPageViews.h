#pragma once

#include "Core/Runs/Report/RunPage.h"

namespace tessera {

/// The slices with a choice of what they show, for a page in HTML. `run` is what run.json says.
std::string viewsHtml(const RunPictures&, const nlohmann::ordered_json& run);

/// The style and the script of viewsHtml().
extern const char* const viewsStyle;
extern const char* const viewsScript;

/// The curves of a stage's levels side by side as an SVG element, each in its own range. Those of random
/// samples are means over a fifth of the iterations.
std::string curvesSvg(const StageCurves&, bool isRandom, const std::string& description);

}
