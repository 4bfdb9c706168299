#include "Tools/Cohort/CohortIndex.h"
#include "Tools/Cohort/CohortOptions.h"
#include "Tools/Cohort/CohortRun.h"
#include "Tools/Cohort/CohortTables.h"
#include "Tools/Cohort/RowWorker.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/Signals.h"

using namespace tessera;

namespace {

int run(const std::string& program, const std::vector<std::string>& tokens, RunLog& log)
{
  if (tokens.size() == 2 && tokens[0] == "serve-rows") // how `run` starts its workers
    return serveRows(std::stoi(tokens[1]));
  const EndOnSignals ending(log);
  const bool isOption = !tokens.empty() && tokens[0].starts_with('-');
  if (tokens.empty() || isOption) {
    const Arguments arguments = parseCommandLine(cohortText().groups, tokens);
    if (tokens.empty() || arguments.has("help"))
      return printText(helpText(cohortText()));
    if (const std::string text = versionText(arguments, "tessera-cohort"); !text.empty())
      return printText(text);
  }
  CohortOptions options = cohortOptions(tokens);
  options.commandLine = commandLineText(program, tokens);
  const Arguments arguments = parseCommandLine(cohortText().groups, {tokens.begin() + 2, tokens.end()});
  setVerbosity(arguments, log);
  setPriority(arguments, log);
  if (options.command == "run")
    return runCohort(options, log);
  if (options.command == "status")
    return tellStatus(options, log);
  if (options.command == "table")
    return writeTables(options, log);
  if (options.command == "report")
    return writeReport(options, log);
  if (options.command == "slurm")
    return writeSlurmScript(options, program, log);
  return checkCohort(options, log);
}

}

int main(int count, char** words)
{
  return runProgram([&](RunLog& log) { return run(words[0], {words + 1, words + count}, log); });
}
