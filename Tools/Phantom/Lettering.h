#pragma once

#include <string_view>

namespace tessera {

/// Pixels of a letter and the space behind it, and rows of a line of text.
constexpr int letterWidth = 6, letterHeight = 8;

/// Whether the pixel at column `x` and row `y` of a line of text belongs to a letter. Known are lower-case
/// letters, digits, A, B, full stop, comma and colon; all else is a blank.
bool isInk(std::string_view text, int x, int y);

}
