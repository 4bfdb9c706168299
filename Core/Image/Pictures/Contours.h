#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace tessera {

/// The outlines of the labels of a picture (x fastest; 0 has none) as paths of SVG in units of half a pixel,
/// through the middles of the sides between pixels. A label in several parts, or with holes, has one path.
std::map<int, std::string> contours(const std::vector<int>& labels, std::size_t width);

}
