#pragma once

#include <functional>
#include <optional>

namespace tessera {

/// Calls `measure` in three child processes, one after another, and returns the median of the results. So
/// costs that a process pays only once are measured three times. Returns nothing if `measure` throws. This
/// process must have no further threads and no CUDA device.
std::optional<double> medianOfProcesses(const std::function<double()>& measure);

}
