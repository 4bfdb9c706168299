#pragma once

#include "Tools/Common/CommandLine.h"

#include <string>

namespace tessera {

// Front ends of elastix start programs called elastix and transformix, and compare some of their texts.
// Started under such a name, a program prints these.

/// The name by which a program was started: the last part of its first word.
std::string programName(const char* firstWord);

/// "elastix" or "transformix".
bool isElastixName(const std::string& program);

/// `elastix version: 5.3.1`, the version whose command lines and files Tessera understands. With `built`, the
/// version of Tessera and `built` follow. Without, programs compare the whole text, so the version of Tessera
/// follows on a terminal alone.
std::string elastixVersionText(const std::string& program, const std::string& built);

/// The last line of the log of a run that failed under the name elastix or transformix: front ends look for
/// it. Empty for other names. Takes no memory.
const char* elastixFailureLine(const char* firstWord);

/// The text without arguments.
std::string elastixHint(const std::string& program);

/// The help, with the version first and an example that begins with this name.
std::string elastixHelp(const std::string& program, ProgramText);

/// Throws Error(usage) with elastix's text for an option that must be given, such as "-tp".
[[noreturn]] void failAsElastix(const std::string& missingOption);

}
