#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Log.h"
#include "Core/Parameters/Calibration.h"

namespace tessera {

/// What the caller of a run knows of the machine: by default what was measured elsewhere and shipped. A
/// program asks files, and measures a GPU that it does not know.
class Machine {
public:
  virtual ~Machine() = default;

  /// The rates by which times are predicted, and "auto" chooses a device.
  virtual Calibration calibration() const { return shippedCalibration(); }
  /// Called before kernels run on the context's device, for which block sizes may be stored.
  virtual void prepareGpu(const Context&, Log&) const {}
};

inline const Machine& shippedMachine()
{
  static const Machine machine;
  return machine;
}

}
