#pragma once

#include "Core/Compute/Context.h"

#include <string>
#include <vector>

namespace tessera {

/// The device memory that some work takes, by named parts, as it is reported before the memory is allocated.
class DeviceMemory {
public:
  struct Part {
    std::string name;
    double bytes = 0;
  };

  /// Parts with the same name are added up.
  void add(const std::string& name, double bytes);
  void add(const DeviceMemory& others);

  double bytes() const;
  const std::vector<Part>& parts() const { return parts_; }
  /// "samples 1.3 GB, images 180 MB", the largest first; parts below 1 MB or a thousandth are reported as
  /// "others", or not at all if even those are less than a thousandth.
  std::string text() const;

private:
  std::vector<Part> parts_;
};

/// "1.3 GB", "180 MB", "1.5 MB", "24 kB", rounded up: two digits or more. Below 0.1 kB "99 bytes".
std::string memoryText(double bytes);

/// Bytes that a plan may use on the context's CUDA device: the free memory less what kernels need beside
/// arrays and what other contexts have reserved, and no more than the context's limit.
double usableDeviceMemory(const Context&);
/// Whether an array may stay on the device beside all else, since it takes a sixteenth of those bytes at
/// most.
bool isSmallOnDevice(const Context&, double bytes);
/// The largest number of bytes of arrays that the context held on its CUDA device since the last call.
double takePeakDeviceMemory(const Context&);

}
