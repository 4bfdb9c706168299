#include "Tools/Common/Process.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Core/Compute/Files/ScratchFolder.h"
#include "Core/Compute/Files/TextFile.h"
#include "Core/Compute/JoinedText.h"
#include "Core/Compute/Threads/ChunkLoop.h"
#include "Core/Parameters/ParameterText.h"
#include "Tools/Common/Signals.h"
#include "Tools/Common/StandardOutput.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <new>
#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <system_error>
#include <typeinfo>
#include <unistd.h>

namespace tessera {
namespace {

int positiveNumber(const std::string& text, const std::string& where)
{
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || value < 1 || value > 4096)
    failAs(ExitCode::usage, where + ": \"" + text + "\"", "not a number of threads",
           "1 to 4096, or 0 for the number taken without the option");
  return static_cast<int>(value);
}

int processorsOfThisProcess()
{
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

struct Priority {
  const char* name;
  int niceness;
};

/// Opens standard streams that the caller has closed. Otherwise the next file would get such a descriptor,
/// and then the lines for the terminal. What is printed to a closed standard output is lost, so that writing
/// there has to fail.
void openStandardStreams()
{
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(descriptor, F_GETFD) < 0) // open() gives the lowest free descriptor
      open("/dev/null", descriptor == STDOUT_FILENO ? O_RDONLY : O_RDWR);
}

/// Throws if the stack is too small: it holds batches of samples, and that of a thread is as large.
void requireStack()
{
  constexpr rlim_t least = rlim_t(1) << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < least)
    failAs(ExitCode::outOfMemory, "stack",
           "a limit of " + std::to_string(limit.rlim_cur >> 10) + " KiB is too small",
           "at least 1024 KiB (ulimit -s 1024)");
}

/// Returns an error code if the text for the terminal could not be written: it is an output, too.
int withOutputShown(int code, RunLog& log)
{
  if (flushStandardOutput() == 0)
    return code;
  log.error(standardOutputError());
  return code == 0 ? static_cast<int>(ExitCode::unwritableOutput) : code;
}

/// Ends the program where an exception cannot be thrown on: where a destructor lacks memory, or threads still
/// run. Libraries have such destructors.
[[noreturn]] void endWithoutUnwinding() noexcept
{
  // Without an exception of its own, another one is on its way: a destructor ends the program, most often for
  // want of memory or threads. Nothing here may throw or take memory: that would end the program once more.
  const std::type_info* const type = abi::__cxa_current_exception_type();
  const bool lacksMemory = type ? *type == typeid(std::bad_alloc) || *type == typeid(std::system_error)
                                : std::uncaught_exceptions() > 0;
  const char* const text = lacksMemory
                               ? "ERROR: memory: this run needs more memory or threads than there are. "
                                 "Allowed: smaller images or matrices, a coarser grid or another machine.\n"
                               : "ERROR: the program itself: it cannot go on. This is a defect of the "
                                 "program; please report it.\n";
  static std::atomic_flag isEntered;
  if (!isEntered.test_and_set()) {
    static_cast<void>(!write(STDERR_FILENO, text, std::strlen(text)));
    ScratchFolder::removeAllIfFree();
  }
  _exit(static_cast<int>(lacksMemory ? ExitCode::outOfMemory : ExitCode::registrationFailed));
}

constexpr std::array<Priority, 5> priorities{
    {{"high", -10}, {"abovenormal", -5}, {"normal", 0}, {"belownormal", 5}, {"idle", 19}}};

}

int threadCount(const Arguments& arguments, std::string* wantedSource)
{
  std::string unused, &source = wantedSource ? *wantedSource : unused;
  source = "-threads";
  const std::string given = arguments.text("threads");
  const bool asIfAbsent = given == "0"; // front ends of elastix write it for "as many as you like"
  if (arguments.has("threads") && !asIfAbsent)
    return positiveNumber(given, source);
  const std::string before = asIfAbsent ? "-threads 0, so " : "";
  for (const char* name : {"SLURM_CPUS_PER_TASK", "OMP_NUM_THREADS"})
    if (const char* text = std::getenv(name); text && *text) {
      source = before + name;
      return positiveNumber(std::string(text).substr(0, std::string(text).find(',')), name);
    }
  source = before + "processors of this process";
  return processorsOfThisProcess();
}

double memorySize(const std::string& option, const std::string& text)
{
  double number = 0;
  const auto [unit, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  constexpr double most = 4e18; // largest number of bytes that integers of 64 bits can count
  if (failure == std::errc())
    for (const auto& [name, factor] : {std::pair{"kB", 1e3}, std::pair{"MB", 1e6}, std::pair{"GB", 1e9}})
      if (std::string_view(unit, text.data() + text.size()) == name && number * factor >= 1
          && number * factor <= most)
        return std::round(number * factor);
  failCommandLine(option, "\"" + text + "\": no size of memory",
                  "a number with kB, MB or GB, such as 500MB or 2.5GB, from 0.001kB to 4e9GB");
}

void setPriority(const Arguments& arguments, RunLog& log)
{
  if (!arguments.has("priority"))
    return;
  const std::string name = arguments.text("priority");
  for (const Priority& priority : priorities)
    if (name == priority.name) {
      if (setpriority(PRIO_PROCESS, 0, priority.niceness) != 0)
        log.warning("-priority: \"" + name + "\": the system refuses it (" + std::strerror(errno)
                    + "); the priority stays as it is.");
      return;
    }
  failAs(ExitCode::usage, "-priority: \"" + name + "\"", "no such priority",
         joined(priorities, ", ", &Priority::name));
}

void setVerbosity(const Arguments& arguments, RunLog& log)
{
  if (arguments.has("q") && arguments.has("v"))
    failCommandLine("-q and -v", "they exclude each other", "one of them");
  log.setVerbose(arguments.has("v"));
  if (arguments.has("q"))
    log.setConsoleLevel(LogLevel::warning);
  if (arguments.has("loglevel"))
    log.setConsoleLevel(logLevelOf(arguments.text("loglevel")));
}

std::vector<Option> readingOptionsOfImages()
{
  const Option series = repeated(
      ownOption("series", "NAME",
                "UID or description of the DICOM series to read from a folder with several; may be repeated, "
                "for several folders; FOLDER/NAME in place of the folder names it for one image"));
  return {series,
          ownOption("allow-missing-slices", "",
                    "a DICOM series may lack slices; they are interpolated between their neighbours"),
          ownOption("pixel-spacing", "MM",
                    "spacing of pictures (JPEG, PNG, TIFF, BMP) instead of the one in the file: a number, or "
                    "one for each axis with commas, such as 0.5,0.5")};
}

ReadingOptions readingOptionsOf(const Arguments& arguments)
{
  ReadingOptions options{.dicomSeries = arguments.all("series"),
                         .allowMissingSlices = arguments.has("allow-missing-slices")};
  const std::string text = arguments.text("pixel-spacing");
  for (const std::string& word : piecesOf(text, ',')) {
    const std::optional<double> spacing = parseReal(word);
    if (!spacing || !(*spacing >= 1e-9 && *spacing <= 1e9))
      failCommandLine("--pixel-spacing " + text, "\"" + word + "\" is no spacing",
                      "numbers from 1e-9 to 1e9 in mm");
    options.pixelSpacingMm.push_back(*spacing);
  }
  return options;
}

std::optional<std::size_t> fromTimeOf(const Arguments& arguments, bool hasImages, const std::string& images)
{
  if (!arguments.has("from-time"))
    return std::nullopt;
  const std::string text = arguments.text("from-time");
  const auto number = parseInteger(text);
  if (!number || *number < 0)
    failCommandLine("--from-time " + text, "not the number of a time",
                    "a whole number, 0 for the first time");
  if (!hasImages)
    failCommandLine("--from-time", "given without images to carry", images + " with it");
  return static_cast<std::size_t>(*number);
}

OptionGroup commonOptions()
{
  return {"Running",
          {{"threads", "N",
            "threads; without it or with 0 SLURM_CPUS_PER_TASK, OMP_NUM_THREADS, or the processors this "
            "process may use"},
           {"priority", "NAME", "high, abovenormal, normal, belownormal or idle"},
           {"loglevel", "LEVEL",
            "what the terminal shows: off, error, warning or info; the log file holds everything"},
           {"q", "", "the terminal shows warnings, errors and a progress line only", false, false, {"quiet"}},
           {"v", "", "the terminal shows details, and the tables of a run", false, false, {"verbose"}},
           ownOption("version", "", "print the version and what it was built with"),
           ownOption("extended-version", "", "the same"),
           ownOption("help", "", "print this text", {"h"})}};
}

std::string exitCodesText()
{
  return "Exit codes: 0 done; 1 the registration failed (no overlap, diverged); 2 command line or parameter "
         "file;\n"
         "3 an input is unreadable or inconsistent; 4 an output cannot be written; 5 device or driver; 6 out "
         "of memory;\n"
         "7 some of several images failed; 129, 130, 143 hung up (unless under nohup), interrupted or\n"
         "terminated, the last finished level kept.\n";
}

std::string prepareOutputFolder(const std::string& path)
{
  std::error_code failure, ignored;
  std::filesystem::create_directories(path, failure);
  if (!std::filesystem::is_directory(path, ignored))
    failAs(failure == std::errc::filename_too_long ? ExitCode::usage : ExitCode::unwritableOutput,
           "-out: \"" + path + "\"",
           "the folder cannot be made" + (failure ? " (" + failure.message() + ")" : ""), "a folder");
  if (access(path.c_str(), W_OK | X_OK) != 0)
    failAs(ExitCode::unwritableOutput, "-out: \"" + path + "\"", "the folder is not writable",
           "a writable folder");
  AtomicFile::removeAbandoned(path);
  return path.back() == '/' ? path : path + "/";
}

void logStart(RunLog& log, const std::string& program, const std::string& logName)
{
  utsname system{};
  uname(&system);
  log.info("");
  log.info(logName + " is started at " + currentTime() + ".");
  log.info("");
  log.info("which " + logName + ":   " + program);
  log.info(logName + " runs at: " + system.nodename);
  log.info("  " + std::string(system.sysname) + " " + system.release + " (" + system.machine + "), with "
           + std::to_string(sysconf(_SC_PHYS_PAGES) / 1024 * (sysconf(_SC_PAGE_SIZE) / 1024))
           + " MB memory, and " + std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) + " cores.");
  log.info("TESSERA version: " + projectVersion());
}

std::string processorName()
{
  for (const std::string& line : linesOf(readTextFile("/proc/cpuinfo").text))
    if (line.starts_with("model name"))
      return line.substr(line.find(':') + 2);
  return "unknown processor";
}

int runProgram(const std::function<int(RunLog&)>& body, const char* failureLine)
{
  std::signal(SIGXFSZ,
              SIG_IGN); // a file that exceeds the size limit becomes an error of writing, like a full disk
  openStandardStreams();
  std::set_terminate(endWithoutUnwinding);
  RunLog log;
  try {
    requireStack();
    const int code = body(log);
    if (ChunkLoop::lacksThreads)
      log.warning("threads: the system let this program create fewer threads than it asked for; the results "
                  "are the same, the run took longer. "
                  + allowedThreads());
    return withOutputShown(code, log);
  } catch (...) {
    const Failure failure = failureOf(std::current_exception(), caughtSignal());
    log.error(failure.message);
    if (*failureLine)
      log.info(failureLine);
    return failure.code;
  }
}

}
