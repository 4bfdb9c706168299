#pragma once

#include <string>

namespace tessera {

enum class DeviceKind { cpu, cuda };

/// Where a level runs. `ordinal` counts CUDA devices as CUDA_VISIBLE_DEVICES leaves them.
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int ordinal = 0;
};

struct DeviceChoice {
  Device device;
  std::string reason; // one line for the log: which device was taken and why
};

/// Resolves "auto", "cpu", "cuda" or "cuda:N" against what this build and machine have.
/// `where` names the source of the text in errors ("--device", "Rigid.txt:7"); `withoutCuda` says which part
/// of the work has no CUDA form, empty if all has one. Throws Error(device) if the device is not there or
/// cannot do the work, Error(usage) if the text is none of the four.
DeviceChoice chooseDevice(const std::string& text, const std::string& where, const std::string& withoutCuda);

}
