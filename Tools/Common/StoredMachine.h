#pragma once

#include "Core/Runs/Machine.h"
#include "Tools/Common/CalibrationFile.h"
#include "Tools/Common/GpuRatesFile.h"

namespace tessera {

/// What the files of this user tell of the machine. A GPU without a file is measured once.
class StoredMachine final : public Machine {
public:
  Calibration calibration() const override { return storedCalibration(); }
  void prepareGpu(const Context& context, Log& log) const override { gpus_.tell(context, log); }

private:
  mutable KnownGpus gpus_;
};

}
