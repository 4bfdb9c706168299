#pragma once

#include "Tools/Register/RegisterOptions.h"
#include "Tools/Register/StageCheck.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tessera {

/// The program and its libraries, before it reads an image.
constexpr double programBytes = 55e6;

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
HostNeed hostNeed(const RegisterOptions&, const std::vector<CheckedStage<D>>&, const InputHeaders&,
                  std::size_t pointPairs);

/// Reads the headers and parameter files of a command line, and returns the need of its run. Throws the
/// errors of reading headers and of checkStage.
HostNeed hostNeed(const Registry&, const RegisterOptions&);

}
