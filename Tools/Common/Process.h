#pragma once

#include "Tools/Common/CommandLine.h"
#include "Tools/Common/RunLog.h"

#include <functional>
#include <string>

namespace tessera {

/// Number of threads: -threads, else SLURM_CPUS_PER_TASK, else OMP_NUM_THREADS, else the processors this
/// process may use. Throws Error(usage) if the one that decides is not a positive whole number. `source`
/// receives its name.
int threadCount(const Arguments&, std::string& source);

/// Whole bytes of a text such as 20kB, 500MB or 2.5GB. Throws Error(usage) naming the option.
double memorySize(const std::string& option, const std::string& text);

/// -priority as elastix names it; on Linux the niceness of the process. Throws Error(usage) for other names;
/// a priority that the system refuses is a warning.
void setPriority(const Arguments&, RunLog&);

/// Level of the terminal's output: -loglevel, -q, -v.
void setVerbosity(const Arguments&, RunLog&);

/// -threads -priority -loglevel -q -v --version --help, as every program has them.
OptionGroup commonOptions();

/// Exit codes of every program, for the end of help.
std::string exitCodesText();

/// Makes the folder if it is missing and returns `path` with a slash at its end.
/// Throws Error(unwritableOutput) if it cannot be made or written into.
std::string prepareOutputFolder(const std::string& path);

/// Lines about program, machine and time at the start of a log.
void logStart(RunLog&, const std::string& program, const std::string& logName);

/// As /proc/cpuinfo calls it.
std::string processorName();

/// The only handler of errors: runs `body` and turns what it throws into a message and an exit code.
int runProgram(const std::function<int(RunLog&)>& body);

}
