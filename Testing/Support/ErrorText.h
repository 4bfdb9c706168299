#pragma once

#include "Core/Compute/Error.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace tessera::testing {

/// The text of the Error that `function` throws; "no error" if it throws none.
template <class Function>
std::string messageOf(Function&& function)
{
  try {
    std::forward<Function>(function)();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

/// Its exit code; done if it throws none.
template <class Function>
ExitCode exitCodeOf(Function&& function)
{
  try {
    std::forward<Function>(function)();
  } catch (const Error& error) {
    return error.code();
  }
  return ExitCode::done;
}

/// The message of the Error that `act` throws; fails the test if it throws none or another code.
template <class Act>
std::string errorText(Act act, ExitCode code = ExitCode::usage)
{
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.code()), static_cast<int>(code)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return "";
}

inline bool contains(const std::string& text, const std::string& part)
{
  return text.find(part) != std::string::npos;
}

/// `text` with `by` in the place of the first `part`, which it must hold.
inline std::string replaced(std::string text, const std::string& part, const std::string& by)
{
  const std::size_t found = text.find(part);
  EXPECT_NE(found, std::string::npos) << part;
  return text.replace(found, part.size(), by);
}

}
