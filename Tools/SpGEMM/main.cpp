#include "Core/Compute/Error.h"
#include "Core/Sparse/Array.h"
#include "Tools/Common/Process.h"
#include "Tools/SpGEMM/SpGemmArguments.h"
#include "Tools/SpGEMM/SpGemmRun.h"

#include <atomic>
#include <csignal>
#include <cstring>

#include <unistd.h>

using namespace tessera;

namespace {

void put(const char* text)
{
  static_cast<void>(!write(STDERR_FILENO, text, std::strlen(text)));
}

/// Ends the program with an error instead of a signal if another program cuts off a mapped matrix.
extern "C" void endOnTruncatedFile(int signal, siginfo_t* info, void*)
{
  const char* const path = mappedFileAt(info->si_addr);
  if (!path) {
    std::signal(signal, SIG_DFL); // the instruction is tried again and ends the program
    return;
  }
  static std::atomic_flag isTold; // several threads may read there
  while (isTold.test_and_set())
    pause();
  put("ERROR: ");
  put(path);
  put(": the file was cut off while it was read. Allowed: files that stay as they are during the run.\n");
  _exit(static_cast<int>(ExitCode::unreadableInput));
}

void watchMappedFiles()
{
  struct sigaction action {};
  action.sa_sigaction = endOnTruncatedFile;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGBUS, &action, nullptr);
}

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

  watchMappedFiles();
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
