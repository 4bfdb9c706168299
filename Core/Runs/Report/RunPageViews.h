#pragma once

#include "Core/Runs/Report/SlicePictures.h"

#include <string>

namespace tessera {

/// The slices with a choice of what they show, for a page in HTML.
std::string viewsHtml(const RunPictures&);

/// The style of viewsHtml().
extern const char* const viewsStyle;

/// A curve of values as an SVG element.
std::string curveSvg(const std::vector<double>& values, const std::string& description);

}
