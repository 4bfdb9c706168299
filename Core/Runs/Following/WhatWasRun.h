#pragma once

#include "Core/Runs/RunSummary.h"

namespace tessera {

/// The parameters with these values of an entry in place of its own.
std::shared_ptr<const ParameterMap> withValues(const std::shared_ptr<const ParameterMap>&,
                                               const std::string& name, std::vector<std::string> values);

/// The parameters with which a stage runs the levels from `first` on; below 0: none.
std::shared_ptr<const ParameterMap> fromLevel(const std::shared_ptr<const ParameterMap>&, int first);

/// The parameters with which a stage repeats to the bit what it did before a deadline came: the levels and
/// iterations that were run.
std::shared_ptr<const ParameterMap> asItRan(const std::shared_ptr<const ParameterMap>&,
                                            const std::vector<LevelSummary>&);

/// Returns the map as the text of a parameter file.
std::string parameterText(const ParameterMap&);

}
