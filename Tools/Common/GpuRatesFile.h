#pragma once

#include "Core/Compute/Context.h"
#include "Core/Compute/Cuda/CudaOnly.h"
#include "Core/Compute/Performance/GpuRates.h"
#include "Core/Parameters/ParameterMap.h"

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tessera {

class Log;

/// The measured properties of a GPU as a parameter text, lines `(Name value)`.
std::string gpuRatesText(const GpuRates&);

/// Reads the text that gpuRatesText writes. Throws Error(usage) with file and line for another version and
/// for an entry that is missing, not known, no number of at least 0, or more than a GPU can have.
GpuRates gpuRatesOf(const ParameterMap&);

/// The file of a GPU: its name in the folder `gpus` beside the calibration (calibrationPath); empty without a
/// home.
std::string gpuRatesPath(const std::string& gpu);

/// The stored rates of a GPU; nothing if it has not been measured. Throws Error(usage) for a damaged file,
/// for one of another GPU, and for one that this user may not read.
std::optional<GpuRates> storedGpuRates(const std::string& gpu);

/// Why no file can be written at this path, whose folder is made; empty if one can.
std::string whyNotStored(const std::string& path);

/// A CUDA device of this machine and its rates.
struct KnownGpu {
  GpuRates rates;
  std::string name;   // by its driver
  std::string source; // of the rates
  bool isMeasuredNow = false;
  std::string whyNotRead; // the file that there is; empty: it was read, or there is none
};

/// The GPUs that a run, or several runs at once, have met. Any thread may call any function.
class KnownGpus {
public:
  /// The stored rates. A GPU without any, or with a damaged file, is measured, which takes half a second, and
  /// its rates are stored unless it seems to be busy. Where they cannot be stored, or cannot be measured,
  /// they follow from what the driver says (ratesByAttributes). Kernels choose their block sizes by these
  /// rates from then on (setDeviceRates). Finds out once. Throws Error(device) if there is no such device.
  const KnownGpu& of(const Device&);
  /// The same for the device of a context, if it is a GPU; logs where the rates come from, and warns once of
  /// a file that could not be read.
  void tell(const Context&, Log&);

private:
  std::mutex mutex_;
  std::map<int, KnownGpu> known_; // by ordinal
  std::set<int> told_;
};

/// The rates as a table with a row for each number.
std::string gpuRatesTable(const GpuRates&);

}
