#include "Core/Image/Files/ImageProcess.h"
#include "Tools/Common/Process.h"
#include "Tools/Compare/CompareOptions.h"
#include "Tools/Compare/CompareRun.h"

using namespace tessera;

namespace {

int run(const std::vector<std::string>& tokens, RunLog& log)
{
  const ImageProcess images;
  const ProgramText text = compareText();
  const Arguments arguments = parseCommandLine(text.groups, tokens);
  if (tokens.empty() || arguments.has("help"))
    return printText(helpText(text));
  if (const std::string version = versionText(arguments, "tessera-compare"); !version.empty())
    return printText(version);
  setVerbosity(arguments, log);
  setPriority(arguments, log);
  return compareImages(compareOptions(arguments), log);
}

}

int main(int count, char** words)
{
  return runProgram([&](RunLog& log) { return run({words + 1, words + count}, log); });
}
