#include "Tools/Common/Process.h"
#include "Tools/SpGEMM/SpGemmArguments.h"
#include "Tools/SpGEMM/SpGemmRun.h"

using namespace tessera;

namespace {

int run(int count, char** words, RunLog& log)
{
  const std::vector<std::string> tokens(words + 1, words + count);
  Arguments arguments({});
  if (tokens.empty())
    return printText(helpText(spGemmText()));
  const SpGemmArguments asked = spGemmArguments(tokens, arguments);
  if (arguments.has("help"))
    return printText(helpText(spGemmText()));
  if (const std::string text = versionText(arguments, "tessera-spgemm"); !text.empty())
    return printText(text);

  setVerbosity(arguments, log);
  setPriority(arguments, log);
  std::string threadSource;
  return runSpGemm(asked, threadCount(arguments, threadSource), log);
}

}

int main(int count, char** words)
{
  return runProgram([&](RunLog& log) { return run(count, words, log); });
}
