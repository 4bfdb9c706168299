#pragma once

#include "Core/Compute/Device.h"

#include <string>
#include <vector>

namespace tessera {

/// What chooseDevice resolves, and "cuda:N,M,..." for several devices, for work that can be shared out.
/// Throws as chooseDevice, and Error(usage) if a device stands there twice.
std::vector<DeviceChoice> chooseDevices(const std::string& text, const std::string& where);

}
