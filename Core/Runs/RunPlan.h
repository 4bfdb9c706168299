#pragma once

#include "Core/Compute/Files/DiskRoom.h"
#include "Core/Compute/Log.h"
#include "Core/Compute/Memory/DeviceShare.h"
#include "Core/Registration/Stage/StageMemory.h"
#include "Core/Runs/Machine.h"
#include "Core/Runs/Prediction/HostNeed.h"
#include "Core/Runs/Prediction/PredictedTime.h"
#include "Core/Runs/StageCheck.h"

#include <map>
#include <string>
#include <vector>

namespace tessera {

/// What a stage will do.
struct StagePlan {
  std::string parameterFile;
  DeviceChoice choice{{}, "cpu"};
  std::vector<LevelPlan> levels;   // on a CUDA device; empty: on the CPU
  std::vector<double> evaluations; // of the cost, the most at each level
};

/// Predicted seconds of the parts of a run.
struct RunTimes {
  double start = 0, reading = 0, stages = 0, writing = 0; // stages: with result images; writing: with figures

  double sum() const { return start + reading + stages + writing; }
};

/// What a run will do, and what that will take.
struct RunPlan {
  std::vector<StagePlan> stages;
  std::vector<ResultToWrite> results; // images
  HostNeed host;
  RunTimes times;                 // without the inverse
  DeviceTimes onEither;           // what "auto" compares: all stages, with the start of the device
  bool onCuda = false;            // one stage at least
  bool mayEndEarly = false;       // the times are those of all iterations
  std::vector<std::string> lines; // all of it in words
};

/// The contexts of devices, which several runs share.
using ContextsInUse = std::map<std::string, Context>;

/// The device and the plans that an earlier run of the same stages, on images of the same size, chose for a
/// stage.
struct StageOnDevice {
  DeviceChoice wanted, choice;
  std::vector<LevelPlan> plans;
};

/// The stages of a run, checked, with what planning them takes.
template <int D>
struct StagesToPlan {
  const Registry& registry;
  const RunRequest& request;
  const Machine& machine;
  const Inputs<D>& inputs;
  ChainPointer<D> initial; // of the first stage; null: none
  std::vector<CheckedStage<D>>& stages;
  ContextsInUse* contexts = nullptr; // null: the run shares none
};

/// Chooses the devices of all stages before any of them runs, and plans their levels by the headers of the
/// images. "auto" takes the device that is predicted to need less time for all stages on "auto" together, by
/// the calibration of this machine. Throws Error(device) and Error(usage) as chooseDevice does, and
/// Error(outOfMemory) if a CUDA device that was asked for has too little memory for a level; "auto" then
/// takes the CPU.
template <int D>
void chooseStageDevices(const StagesToPlan<D>&);

/// The same, and tells what the run will take. Warnings go to the log.
template <int D>
RunPlan planRun(const StagesToPlan<D>&, Log&);

/// Plans the levels of a stage anew where its masks or the content of its images, which are read now, may
/// need less than the headers let expect, or other runs of this process have reserved memory. "auto" may then
/// take another device. What is `known` is taken over instead (null: nothing). `context`, on the CPU, becomes
/// that of the stage's device. Returns the memory that is kept for the stage. Throws Error(outOfMemory) as
/// above.
template <int D>
DeviceReservation planAsRead(const StagesToPlan<D>&, CheckedStage<D>&, const StageInput<D>&,
                             const StageOnDevice* known, Context& context);

}
