#pragma once

#include "Core/Compute/Memory/DeviceShare.h"
#include "Core/Registration/Stage/StageMemory.h"
#include "Tools/Common/RunLog.h"
#include "Tools/Register/RegisterOptions.h"
#include "Tools/Register/StageCheck.h"
#include "Tools/Register/StageTime.h"

#include <vector>

namespace tessera {

/// Chooses the devices of all stages before any of them runs, and plans their levels by the headers of the
/// images. "auto" takes the device that is predicted to need less time for all stages on "auto" together, by
/// the calibration of this machine. Throws Error(device) and Error(usage) as chooseDevice does, and
/// Error(outOfMemory) if a CUDA device that was asked for has too little memory for a level; "auto" then
/// takes the CPU. If only a check was asked for, the log gets the predicted time, and what each level needs
/// of a CUDA device, if there is one or a limit of its memory was given, unless the CPU was asked for.
template <int D>
PredictedRun chooseStageDevices(const Registry&, const RegisterOptions&, std::vector<CheckedStage<D>>&,
                                const InputHeaders&, std::size_t pointPairs,
                                const std::shared_ptr<const TransformChain<D>>& initial, RunLog&);

/// Plans the levels of a stage anew: its masks, which are read now, and the initial transform, which earlier
/// stages have found now, may need less than the headers let expect, and other runs of this process may have
/// reserved memory. "auto" may then take another device. `context`, on the CPU, becomes that of the stage's
/// device. Returns the memory that is kept for the stage. Throws Error(outOfMemory) as above.
template <int D>
DeviceReservation planAsRead(const Registry&, const RegisterOptions&, CheckedStage<D>&, const StageInput<D>&,
                             Context& context);

}
