#pragma once

#include "Core/Compute/Device.h"

#include <string>
#include <vector>

namespace tessera {

/// Resolves all names that chooseDevice does, and "cuda:N,M,..." for work that several devices can share.
/// Throws the errors of chooseDevice, and Error(usage) if a device is named twice.
std::vector<DeviceChoice> chooseDevices(const std::string& text, const std::string& where);

}
