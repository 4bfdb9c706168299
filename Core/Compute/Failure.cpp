#include "Core/Compute/Failure.h"

#include "Core/Compute/Error.h"
#include "Core/Compute/Threads/Interruption.h"

#include <csignal>
#include <new>
#include <stdexcept>
#include <system_error>

#include <sys/resource.h>

namespace tessera {
namespace {

Failure outOfMemory()
{
  return {static_cast<int>(ExitCode::outOfMemory),
          "memory: this run needs more than there is. Allowed: smaller images or matrices, a coarser grid or "
          "another machine."};
}

Failure outOfThreads()
{
  // Under a limit of memory a thread that is refused lacked room for its stack, as far as anybody can tell.
  return {static_cast<int>(ExitCode::outOfMemory),
          std::string(memoryIsLimited() ? "memory" : "threads")
              + ": the system refused to create a thread or process that this run needs. "
              + allowedThreads()};
}

Failure defect(const std::string& text)
{
  return {static_cast<int>(ExitCode::registrationFailed),
          "the program itself: " + text + ". This is a defect of the program; please report it."};
}

/// The failure of a call that the system refused, by its error code. A code that is not known here is a
/// defect of the program.
Failure failureOf(const std::system_error& error)
{
  const auto fail = [&](ExitCode code, const std::string& allowed) {
    return Failure{static_cast<int>(code),
                   std::string("the system: ") + error.what() + ". Allowed: " + allowed + "."};
  };
  if (error.code().category() != std::generic_category() && error.code().category() != std::system_category())
    return defect(error.what());
  switch (error.code().value()) {
  case EAGAIN:
    return outOfThreads();
  case ENOMEM:
    return outOfMemory();
  case EMFILE:
  case ENFILE:
    return fail(ExitCode::outOfMemory, "a higher limit of open files (ulimit -n)");
  case EFBIG:
    return fail(ExitCode::outOfMemory,
                "a higher limit of the size of files (ulimit -f), which counts for shared memory, too");
  case EIO:
    return fail(ExitCode::unreadableInput, "files on a disk that can be read");
  case ENAMETOOLONG:
    return fail(ExitCode::usage, "names of at most 255 bytes, and shorter paths");
  case ENOTDIR:
  case EEXIST:
  case EISDIR:
  case ELOOP:
  case ENOTEMPTY:
    return fail(ExitCode::unwritableOutput,
                "in its place a file or folder that the program has made, or nothing");
  case ENOENT:
  case EACCES:
  case EPERM:
  case EROFS:
  case ENOSPC:
  case EDQUOT:
    return fail(ExitCode::unwritableOutput, "folders that stay, may be written to and have room");
  default:
    return defect(error.what());
  }
}

}

bool memoryIsLimited()
{
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

std::string allowedThreads()
{
  return memoryIsLimited() ? "Allowed: higher limits of memory (ulimit -v) and of processes (ulimit -u)."
                           : "Allowed: a higher limit of processes (ulimit -u, or that of the container).";
}

Failure failureOf(const std::exception_ptr& exception, int signal)
{
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    return {static_cast<int>(error.code()), error.what()};
  } catch (const Interrupted&) {
    return {128 + (signal > 0 ? signal : SIGINT),
            (signal > 0 ? "interrupted by signal " + std::to_string(signal) : std::string("stopped"))
                + ": the run is not complete; finished levels are kept."};
  } catch (const std::bad_alloc&) {
    return outOfMemory();
  } catch (const std::length_error&) { // a vector too long for any memory
    return outOfMemory();
  } catch (const std::system_error& error) {
    return failureOf(error);
  } catch (const std::exception& error) {
    return defect(error.what());
  } catch (...) {
    return defect("an exception of unknown kind");
  }
}

}
