#include "Core/Compute/Error.h"
#include "Tools/Common/Process.h"
#include "Tools/Common/Signals.h"
#include "Tools/Landmarks/FindOptions.h"
#include "Tools/Landmarks/ScoreOptions.h"

using namespace tessera;

namespace {

int run(std::vector<std::string> tokens, RunLog& log)
{
  const EndOnSignals ending(log);
  const ProgramText text = landmarksText();
  std::string command;
  if (!tokens.empty() && !tokens.front().starts_with('-')) {
    command = tokens.front();
    tokens.erase(tokens.begin());
  }
  std::string table;
  if (command == "score" && !tokens.empty() && !tokens.front().starts_with('-')
      && (tokens.size() == 1 || tokens[1].starts_with('-'))) {
    table = tokens.front();
    tokens.erase(tokens.begin());
  }
  std::vector<std::string> operands;
  if (command == "score" && table.empty())
    operands = {"fp", "mp"};
  const Arguments arguments = parseCommandLine(text.groups, tokens, operands);
  if (arguments.has("help") || (command.empty() && tokens.empty()))
    return printText(helpText(text));
  if (const std::string version = versionText(arguments, "tessera-landmarks"); !version.empty())
    return printText(version);
  const bool finds = command == "detect" || command == "track";
  if (command != "score" && !finds)
    failAs(ExitCode::usage, "command line",
           (command.empty() ? "no command" : "\"" + command + "\": not known"),
           "tessera-landmarks score, detect, track");
  checkOptionsOf(command, arguments);
  setVerbosity(arguments, log);
  setPriority(arguments, log);
  if (finds) {
    const FindOptions options = findOptions(command, arguments);
    return command == "track" ? track(options, log) : detect(options, log);
  }
  return score(scoreOptions(table, arguments), log);
}

}

int main(int count, char** words)
{
  return runProgram([&](RunLog& log) { return run({words + 1, words + count}, log); });
}
