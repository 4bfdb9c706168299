#include "Components/RegisterComponents.h"
#include "Core/Compute/Error.h"
#include "Core/Compute/Files/AtomicFile.h"
#include "Tools/Common/AsElastix.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/ShippedParameters.h"
#include "Tools/Common/Signals.h"
#include "Tools/Register/ComponentPages.h"
#include "Tools/Register/PageOfResult.h"
#include "Tools/Register/RegisterOptions.h"
#include "Tools/Register/RegisterRun.h"
#include "Tools/Register/RunRecorder.h"
#include "Tools/Register/WarpedImages.h"

using namespace tessera;

namespace {

int writePages(const Registry& registry, const std::string& path)
{
  const std::string folder = prepareOutputFolder(path);
  for (const auto& [name, page] : referencePages(registry))
    writeTextFile(folder + name, page);
  return 0;
}

/// Calls `read`, which reads the command line. If that is wrong, a record in its output folder tells so.
template <class Read>
auto orRecorded(const std::string& commandLine, const std::vector<std::string>& tokens, const Read& read)
{
  try {
    return read();
  } catch (const Error&) {
    RegisterOptions options;
    options.commandLine = commandLine;
    options.request.outputFolder = outputFolderIn(tokens);
    replaceRecord(options, failureOf(std::current_exception(), caughtSignal()));
    throw;
  }
}

int run(int count, char** words, RunLog& log)
{
  const std::vector<std::string> tokens(words + 1, words + count);
  const std::string commandLine = commandLineText(words[0], tokens);
  const std::string name = programName(words[0]);
  const bool asElastix = isElastixName(name);
  const Arguments arguments = orRecorded(commandLine, tokens, [&] {
    return parseCommandLine(registerText().groups, tokens, registerOperands(asElastix));
  });
  if (count == 1 && asElastix)
    return printText(elastixHint(name));
  if (count == 1 || arguments.has("help"))
    return printText(asElastix ? elastixHelp(name, registerText())
                               : helpText(registerText()) + "Two words without options are -f and -m.\n"
                                     + "Parameter files: " + shippedFolder().string() + "\n");
  if (const std::string text = versionText(arguments, asElastix ? name : "tessera"); !text.empty())
    return printText(text);

  if (arguments.has("list-presets"))
    return printText(presetList());

  Registry registry;
  registerComponents(registry);
  if (arguments.has("list-components"))
    return printText(componentList(registry));
  if (arguments.has("describe"))
    return printText(componentPage(registry, arguments.text("describe")));
  if (arguments.has("reference-pages"))
    return writePages(registry, arguments.text("reference-pages"));

  if (arguments.has("report-of")) {
    for (const char* other :
         {"f", "m", "p", "preset", "out", "check", "report", "fLabels", "mLabels", "fp", "mp"})
      if (arguments.has(other))
        failCommandLine("--report-of and " + std::string(other),
                        "nothing is registered, so it would have no effect",
                        "--report-of FOLDER, with -threads, -loglevel, -q or -v");
    setVerbosity(arguments, log);
    writePageOfResult(registry, arguments.text("report-of"), threadCount(arguments), log);
    return 0;
  }

  const RegisterOptions options = orRecorded(commandLine, tokens, [&] {
    setVerbosity(arguments, log);
    setPriority(arguments, log);
    RegisterOptions given = registerOptions(arguments, asElastix);
    given.commandLine = commandLine;
    given.request.threads = threadCount(arguments, &given.request.threadSource);
    return given;
  });
  if (arguments.text("threads") == "0")
    log.note(options.request.threadSource + ": " + threadsText(options.request.threads) + ".");
  if (options.checkOnly) {
    checkWarpedImages(options.request);
    checkRegistration(registry, options.request, options.measuresTime, log);
  } else
    runRegistration(registry, options, words[0], log, true);
  return 0;
}

}

int main(int count, char** words)
{
  return runProgram([&](RunLog& log) { return run(count, words, log); }, elastixFailureLine(words[0]));
}
