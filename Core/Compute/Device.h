#pragma once

#include <string>
#include <vector>

namespace tessera {

enum class DeviceKind { cpu, cuda };

/// A device. `ordinal` counts the CUDA devices that CUDA_VISIBLE_DEVICES leaves.
struct Device {
  DeviceKind kind = DeviceKind::cpu;
  int ordinal = 0;
};

struct DeviceChoice {
  Device device;
  std::string reason; // one line for the log: which device was chosen and why
};

/// Resolves "auto", "cpu", "cuda" or "cuda:N" for this build and machine. `where` names the source of the
/// text in errors ("--device", "Rigid.txt:7"). `withoutCuda` names the part of the work that has no CUDA
/// form, and is empty if all parts have one. Throws Error(device) if the device does not exist or cannot do
/// the work, and Error(usage) for any other text.
DeviceChoice chooseDevice(const std::string& text, const std::string& where, const std::string& withoutCuda);

/// Resolves all names that chooseDevice does, and "cuda:N,M,..." for work that several devices can share.
/// Throws the errors of chooseDevice, and Error(usage) if a device is named twice.
std::vector<DeviceChoice> chooseDevices(const std::string& text, const std::string& where);

}
