#pragma once

#include "Core/Compute/Device.h"
#include "Core/Registration/Stage/StageMemory.h"
#include "Tools/Common/RunLog.h"
#include "Tools/Register/RegisterOptions.h"
#include "Tools/Register/StageCheck.h"

#include <vector>

namespace tessera {

/// Where a stage runs, and how its levels fit there.
struct StageDevice {
  DeviceChoice choice;
  std::vector<LevelPlan> plans; // empty on the CPU
};

/// Throws Error(device) and Error(usage) as chooseDevice, and Error(outOfMemory) if a CUDA device that was
/// asked for has too little memory for a level; "auto" then takes the CPU, and says so.
template <int D>
StageDevice chooseStageDevice(const Registry&, const RegisterOptions&, const Parameters&,
                              const StageExtent<D>&);

/// Does so for all stages before any is run, from what headers say. If only a check was asked for, the log
/// gets what each level needs of a CUDA device, unless the CPU was asked for.
template <int D>
void checkStageDevices(const Registry&, const RegisterOptions&, const std::vector<StageText>&,
                       const InputHeaders&, std::size_t pointPairs,
                       const std::shared_ptr<const TransformChain<D>>& initial, RunLog&);

}
