#include "Components/RegisterComponents.h"
#include "Core/Compute/Error.h"
#include "Core/Image/Files/ImageProcess.h"
#include "Tools/Common/AsElastix.h"
#include "Tools/Common/Process.h"
#include "Core/Runs/RunRecord.h"
#include "Tools/Common/Signals.h"
#include "Tools/Transform/TransformOptions.h"
#include "Tools/Transform/TransformRecord.h"
#include "Tools/Transform/TransformRun.h"

using namespace tessera;

namespace {

/// Calls `read`, which reads the command line. If that is wrong, a record in its output folder tells so.
template <class Read>
auto orRecorded(const std::string& commandLine, const std::vector<std::string>& tokens, const Read& read)
{
  try {
    return read();
  } catch (const Error&) {
    TransformRecord::replace(outputFolderIn(tokens), commandLine,
                             failureOf(std::current_exception(), caughtSignal()));
    throw;
  }
}

int run(int count, char** words, RunLog& log)
{
  const std::vector<std::string> tokens(words + 1, words + count);
  const std::string name = programName(words[0]), commandLine = commandLineText(words[0], tokens);
  const bool asElastix = isElastixName(name);
  const ProgramText program = transformText(asElastix);
  const Arguments arguments =
      orRecorded(commandLine, tokens, [&] { return parseCommandLine(program.groups, tokens); });
  if (count == 1 && asElastix)
    return printText(elastixHint(name));
  if (count == 1 || arguments.has("help"))
    return printText(asElastix ? elastixHelp(name, program) : helpText(program));
  if (const std::string text = versionText(arguments, asElastix ? name : "tessera-transform"); !text.empty())
    return printText(text);

  const TransformOptions options = orRecorded(commandLine, tokens, [&] {
    setVerbosity(arguments, log);
    setPriority(arguments, log);
    TransformOptions given = transformOptions(arguments, asElastix);
    given.commandLine = commandLine;
    given.threads = threadCount(arguments, given.threadSource);
    return given;
  });
  if (arguments.text("threads") == "0")
    log.note(options.threadSource + ": " + threadsText(options.threads) + ".");
  if (arguments.has("ipp"))
    log.warning("-ipp is an older name of -def; use -def.");
  Registry registry;
  registerComponents(registry);
  return runTransform(registry, options, words[0], log);
}

}

int main(int count, char** words)
{
  return runProgram([&](RunLog& log) {
    const ImageProcess images; // before the thread of EndOnSignals
    const EndOnSignals ending([&log](int signal) {
      log.error("interrupted by signal " + std::to_string(signal)
                + ": the run is not complete; results that are there are whole.");
      TransformRecord::writeInterrupted(signal);
    });
    return run(count, words, log);
  });
}
