#pragma once

#include <exception>
#include <string>

namespace tessera {

/// The exit codes of all programs. Each is also the kind of failure that an Error reports.
enum class ExitCode {
  done = 0,
  registrationFailed = 1,
  usage = 2,
  unreadableInput = 3,
  unwritableOutput = 4,
  device = 5,
  outOfMemory = 6,
  someRowsFailed = 7,
};

/// The one exception type. Its message is `where: what was given: what is wrong. What is allowed.` Callers
/// put what they were doing before it with addContext, and only `main` handles it.
class Error : public std::exception {
public:
  Error(ExitCode code, std::string message) : code_(code), message_(std::move(message)) {}

  /// The message becomes `where: message`.
  Error& addContext(const std::string& where)
  {
    message_ = where + ": " + message_;
    return *this;
  }

  ExitCode code() const { return code_; }
  const char* what() const noexcept override { return message_.c_str(); }

private:
  ExitCode code_;
  std::string message_;
};

/// Throws Error `where: wrong. Allowed: allowed.`
[[noreturn]] inline void failAs(ExitCode code, const std::string& where, const std::string& wrong,
                                const std::string& allowed)
{
  throw Error(code, where + ": " + wrong + ". Allowed: " + allowed + ".");
}

}
