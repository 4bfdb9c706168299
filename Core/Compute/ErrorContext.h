#pragma once

#include "Core/Compute/Error.h"

namespace tessera {

/// What `action` gives; errors that it throws name `where` first.
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
