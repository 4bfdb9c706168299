#pragma once

#include <exception>
#include <string>

namespace tessera {

/// Exit codes of every program; also the kind of failure an Error reports.
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

/// The one exception type: `where: what was given: what is wrong. What is allowed.`
/// Callers put what they were at before it with addContext; `main` has the only handler.
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

}
