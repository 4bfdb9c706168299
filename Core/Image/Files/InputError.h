#pragma once

#include <string>

namespace tessera {

/// What is allowed where a file is shorter than it should be.
inline const std::string wholeFile = "a whole file; it may have been cut off while it was copied";

/// Throws Error(unreadableInput) `path: <wrong>. Allowed: <allowed>.`
[[noreturn]] void failToRead(const std::string& path, const std::string& wrong, const std::string& allowed);

/// Throws unless spacingMm is above zero and of a size that can be reckoned with.
void checkSpacing(const std::string& path, int axis, double spacingMm);

/// Six significant digits, for messages.
std::string shortText(double value);

}
