#include "Tools/Bench/Calibration/ChildProcesses.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Math/Median.h"

#include <cerrno>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace tessera {
namespace {

[[noreturn]] void fail(const char* what)
{
  throw Error(ExitCode::registrationFailed,
              std::string("calibrate: ") + what + ": " + std::strerror(errno)
                  + ". Allowed: a system that lets this program start processes.");
}

std::optional<double> inProcess(const std::function<double()>& measure)
{
  int ends[2];
  if (pipe(ends) != 0)
    fail("pipe");
  const pid_t child = fork();
  if (child < 0)
    fail("fork");
  if (child == 0) {
    bool written = false;
    try {
      const double value = measure();
      written = write(ends[1], &value, sizeof value) == sizeof value;
    } catch (...) { // the parent runs into the same error and reports it
    }
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  double value = 0;
  const bool wasRead = read(ends[0], &value, sizeof value) == sizeof value;
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return wasRead ? std::optional(value) : std::nullopt;
}

}

std::optional<double> medianOfProcesses(const std::function<double()>& measure)
{
  constexpr int processes = 3;
  std::vector<double> values;
  for (int i = 0; i < processes; ++i) {
    const std::optional<double> value = inProcess(measure);
    if (!value)
      return std::nullopt;
    values.push_back(*value);
  }
  return median(values);
}

}
