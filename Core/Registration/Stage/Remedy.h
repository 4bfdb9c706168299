#pragma once

#include "Core/Registration/Stage/Motion.h"

#include <string>

namespace tessera {

/// The measurements of a stage that ended because too few samples map into the moving image and its mask.
struct FewSamples {
  Motion asGiven; // by the masks as they were given
  Motion atLevel; // by those of the level, which may be eroded
  double diagonalOfFixedMm = 0;
  bool anyIsValid = true; // of the samples
  bool canCentre = true;  // by AutomaticTransformInitialization: its transform is linear, without start
  bool movingMaskIsGiven = true; // else its outside are the voxels that have no value
  std::string gridSpacing = "FinalGridSpacingInPhysicalUnits"; // the name that the stage's parameters have
};

/// Why the stage ended, and one remedy that may help.
std::string remedyFor(const FewSamples&);

/// For a stage whose end is worse than its start, or far outside: one remedy that may help.
std::string remedyOfDivergence(const Motion&, double diagonalOfFixedMm);

}
