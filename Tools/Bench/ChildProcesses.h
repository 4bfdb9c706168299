#pragma once

#include <functional>
#include <optional>

namespace tessera {

/// The median of what `measure` returns in three processes of its own, one after another: what a process pays
/// once is then measured more than once. Nothing if it throws. Only while this process has neither threads
/// nor a CUDA device.
std::optional<double> medianOfProcesses(const std::function<double()>& measure);

}
