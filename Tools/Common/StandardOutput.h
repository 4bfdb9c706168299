#pragma once

#include <string>

namespace tessera {

/// Writes a text to standard output. Errors are recorded for flushStandardOutput().
void putStandardOutput(const std::string& text);

/// Flushes standard output. Returns the errno of the first failure of this process, 0 if there was none.
int flushStandardOutput();

/// The message after a failure: `stdout: cannot be written whole (No space left on device). Allowed: ...`
std::string standardOutputError();

}
