#pragma once

#include <string>

namespace tessera {

/// Writes a text to standard output; what goes wrong is remembered.
void putStandardOutput(const std::string& text);

/// Sends what waits there; the number (errno) of the first failure of this process, 0 if there was none.
int flushStandardOutput();

/// After a failure: `stdout: cannot be written whole (No space left on device). Allowed: ...`
std::string standardOutputError();

}
