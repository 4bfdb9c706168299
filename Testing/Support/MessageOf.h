#pragma once

#include "Core/Compute/Error.h"

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

}
