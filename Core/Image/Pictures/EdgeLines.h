#pragma once

#include "Core/Image/Pictures/PictureBytes.h"
#include "Core/Image/Pictures/PictureParts.h"

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace tessera {

/// Thin lines along the edges of a panel of grey values from 0 to 255, as 1 in pixels half as large. Edges
/// are maxima of the gradient along itself (Canny, "A computational approach to edge detection", 1986),
/// placed by a parabola, that exceed the noise of the panel and the mean of their surroundings, are not in
/// the dark, and form lines of at least 16 pixels, or an eighth of the width.
IndexedPicture edgeLines(const Panel& grey);

/// Whether a line goes through a pixel of the panel.
bool hasLine(const IndexedPicture& lines, std::size_t x, std::size_t y);

/// The outlines of the labels of a picture (x fastest; 0 has none) as paths of SVG in units of half a pixel,
/// through the middles of the sides between pixels. A label in several parts, or with holes, has one path.
std::map<int, std::string> contours(const std::vector<int>& labels, std::size_t width);

}
