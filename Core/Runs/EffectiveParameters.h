#pragma once

#include "Core/Image/Voxels/PixelType.h"
#include "Core/Parameters/ParameterMap.h"
#include "Core/Registry/Registry.h"

#include <memory>
#include <string>
#include <vector>

namespace tessera {

/// The parameters with the (ResultImagePixelType ...) that holds the values of an image of `type`, unless
/// they name a type or a format that cannot hold that one. Values are floats, so it is never "double".
std::shared_ptr<const ParameterMap> withResultType(const std::shared_ptr<const ParameterMap>&, PixelType);

/// The parameters with this (DefaultPixelValue ...) in place of their own.
std::shared_ptr<const ParameterMap> withDefaultPixelValue(const std::shared_ptr<const ParameterMap>&,
                                                          int value);

/// The parameters with an ImagePyramidSchedule and a FinalGridSpacingInVoxels that suit an image with so many
/// voxels along its longest axis, if they say for which size theirs are (ScheduleForImageSize). Throws
/// Error(usage) if they have no ImagePyramidSchedule.
std::shared_ptr<const ParameterMap> withScheduleForSize(const std::shared_ptr<const ParameterMap>&,
                                                        std::size_t longestAxis);

/// A parameter that a component of a stage reads.
struct EffectiveParameter {
  std::string name; // with the label before it if the file has it so
  std::vector<std::string> values;
  bool isGiven = false; // otherwise it is the default
};

/// Every parameter that a component of the stage reads, by name. Throws the errors of chosenComponents.
std::vector<EffectiveParameter> effectiveParameters(const Registry&,
                                                    const std::shared_ptr<const ParameterMap>& text);

}
