#pragma once

#include "Core/Runs/Machine.h"
#include "Tools/Common/BlockSizesFile.h"
#include "Tools/Common/CalibrationFile.h"

namespace tessera {

/// What the files of this user tell of the machine.
class StoredMachine final : public Machine {
public:
  Calibration calibration() const override { return storedCalibration(); }
  void prepareGpu(const Context& context, Log& log) const override { useStoredBlockSizes(context, log); }
};

}
