#include "Tools/Common/StandardOutput.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace tessera {
namespace {

std::atomic<int> firstFailure{0};

void remember()
{
  int none = 0;
  firstFailure.compare_exchange_strong(none, errno != 0 ? errno : EIO);
}

}

void putStandardOutput(const std::string& text)
{
  errno = 0;
  if (std::fputs(text.c_str(), stdout) < 0)
    remember();
}

int flushStandardOutput()
{
  errno = 0;
  if (std::fflush(stdout) != 0)
    remember();
  return firstFailure;
}

std::string standardOutputError()
{
  return "stdout: cannot be written whole (" + std::string(std::strerror(firstFailure))
         + "). Allowed: a pipe or file that takes all of it.";
}

}
