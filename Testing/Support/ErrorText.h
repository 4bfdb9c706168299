#pragma once

#include "Core/Compute/Error.h"

#include <gtest/gtest.h>

#include <string>

namespace tessera::testing {

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

}
