#pragma once

#include "Core/Compute/Failure.h"
#include "Core/Image/Files/ReadingOptions.h"
#include "Tools/Common/CommandLine.h"
#include "Tools/Common/RunLog.h"

#include <functional>
#include <optional>
#include <string>

namespace tessera {

/// The number of threads: that of -threads, else of SLURM_CPUS_PER_TASK, else of OMP_NUM_THREADS, else of the
/// processors that this process may use. `source`, unless null, receives the name of the one that decides.
/// Throws Error(usage) if its value is not a positive whole number.
int threadCount(const Arguments&, std::string* source = nullptr);

/// The whole bytes of a text such as 20kB, 500MB or 2.5GB. Throws Error(usage) with the option.
double memorySize(const std::string& option, const std::string& text);

/// Applies -priority with elastix's names as the niceness of the process. Throws Error(usage) for another
/// name. Warns if the system refuses the priority.
void setPriority(const Arguments&, RunLog&);

/// Sets the level of the terminal's output by -loglevel, -q and -v.
void setVerbosity(const Arguments&, RunLog&);

/// The options about image files whose meaning they do not say themselves, and what is made of them.
std::vector<Option> readingOptionsOfImages();
/// Throws Error(usage) for a spacing that is none.
ReadingOptions readingOptionsOf(const Arguments&);

/// The number of --from-time, which is for these images; empty: not given. Throws Error(usage) if it is none,
/// or if there are no such images.
std::optional<std::size_t> fromTimeOf(const Arguments&, bool hasImages, const std::string& images);

/// The options that every program has: -threads -priority -loglevel -q -v --version --help.
OptionGroup commonOptions();

/// The exit codes of every program, for the end of the help.
std::string exitCodesText();

/// Creates the folder if it does not exist and returns `path` with a slash at its end. Throws
/// Error(unwritableOutput) if the folder cannot be created or written to.
std::string prepareOutputFolder(const std::string& path);

/// Logs the first lines: program, machine and time.
void logStart(RunLog&, const std::string& program, const std::string& logName);

/// The name of the processor in /proc/cpuinfo.
std::string processorName();

/// Runs the body of a program and turns an exception into a message and an exit code. The only such handler.
/// `failureLine`, if not empty, ends the log of a failure.
int runProgram(const std::function<int(RunLog&)>& body, const char* failureLine = "");

}
