#pragma once

#include "Core/Compute/Context.h"

#include <functional>
#include <string>

namespace tessera {

struct ContextChoice {
  Context context;
  std::string reason; // one line for the log: which device was chosen and why
};

/// A context on the device that `text` names (chooseDevice). `whyNot` is asked of a CUDA device that was
/// found: it says why the work cannot be done there, such as too little memory, and is empty if it can. Then
/// "auto" takes the CPU. Throws the errors of chooseDevice and makeContext, and Error(device) if a device
/// that is named cannot do the work.
ContextChoice chooseContext(const std::string& text, const std::string& where, int threads,
                            const std::string& withoutCuda,
                            const std::function<std::string(const Context&)>& whyNot);

}
