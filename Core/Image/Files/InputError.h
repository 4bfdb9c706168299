#pragma once

#include <string>

namespace tessera {

/// The allowed input where a file is too short.
inline const std::string wholeFile = "a whole file; it may have been cut off while it was copied";

/// The text for a picture that fails a check.
inline const std::string damagedPicture = "the picture is cut off or damaged";

/// Throws Error(unreadableInput) `path: <wrong>. Allowed: <allowed>.`
[[noreturn]] void failToRead(const std::string& path, const std::string& wrong, const std::string& allowed);

/// Throws unless every spacing is positive and neither so small nor so large that volumes overflow.
void checkSpacing(const std::string& path, int axis, double spacingMm);

/// A number with six significant digits, for messages.
std::string shortText(double value);

}
