#pragma once

#include "Core/Runs/RunRequest.h"
#include "Core/Runs/StageCheck.h"

#include <string>
#include <vector>

namespace tessera {

/// The program and its libraries, before it reads an image, and the points at which a result is judged.
constexpr double programBytes = 33e6;

/// About how many bytes of host memory a run on the CPU takes at most. --report takes no more than the levels
/// before it.
struct HostNeed {
  double images = 0;   // and masks, in full size
  double work = 0;     // of the level or result image that takes most
  std::string largest; // that one: "level 2 of FreeFormNMI.txt"

  double bytesBesideProgram() const { return images + work; }
  double bytes() const { return programBytes + bytesBesideProgram(); }
};

template <int D>
HostNeed hostNeed(const RunRequest&, const std::vector<CheckedStage<D>>&, const Inputs<D>&);

}
