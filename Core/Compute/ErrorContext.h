#pragma once

#include "Core/Compute/Error.h"

namespace tessera {

/// Returns the result of `action`. `where` is put before the message of an Error that it throws.
template <class Action>
auto withContext(const std::string& where, Action&& action)
{
  try {
    return action();
  } catch (Error& error) {
    error.addContext(where);
    throw;
  }
}

}
